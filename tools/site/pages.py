"""A hook of MkDocs: the pages of this tree, where they are, public headers, and what the pages link to.

No address of a repository is known, so that a linked source file is a page of the site, and a linked folder a list.
"""
import collections
import logging
import pathlib
import re
import subprocess

from markdown_it import MarkdownIt
from mkdocs.structure.files import File, InclusionLevel

ROOT = pathlib.Path(__file__).resolve().parents[2]
log = logging.getLogger("mkdocs.hooks.pages")
PICTURES = {".png", ".svg"}
LANGUAGES = {".cpp": "cpp", ".hpp": "cpp", ".json": "json", ".py": "python", ".v": "coq"}


class Source(File):
    """A page with the text of a file that is not Markdown."""

    def is_documentation_page(self):
        return True


def git_files(*patterns):
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", *patterns], cwd=ROOT,
                            capture_output=True, text=True, check=True)
    return sorted(name for name in listed.stdout.splitlines() if (ROOT / name).exists())


def page_of(path):
    """The Markdown of a page that shows a source file, or the names of what a folder has."""
    name = path.relative_to(ROOT).as_posix()
    text = "\n".join(git_files(name)) if path.is_dir() else path.read_text()
    language = LANGUAGES.get(path.suffix, "text")
    head = f"---\ntitle: {name}\nsearch:\n  exclude: true\nhide: [navigation, toc]\n---\n\n# `{name}`\n\n"
    return f"{head}````{language}\n{text}\n````\n"


def on_files(files, config):
    pages = [page for page in git_files("*.md") if not page.startswith(".github/")]
    linked = {ROOT / header for header in git_files("include/*.hpp")}
    for page in pages:
        files.append(File.generated(config, page, abs_src_path=str(ROOT / page)))
        for target in re.findall(r"(?:\]\(|src=\")([^)\s#\"]+)", (ROOT / page).read_text()):
            linked.add((ROOT / page).parent.joinpath(target).resolve())
    for path in sorted(linked):
        if not path.is_relative_to(ROOT) or not path.exists() or path.suffix == ".md":
            continue  # an address elsewhere; a link that leads nowhere, of which MkDocs warns
        name = path.relative_to(ROOT).as_posix()
        if path.suffix in PICTURES:
            files.append(File.generated(config, name, abs_src_path=str(path)))
        else:
            source = Source.generated(config, name, content=page_of(path), inclusion=InclusionLevel.NOT_IN_NAV)
            source.dest_uri = f"{name}/files.html" if path.is_dir() else f"{name}.html"
            files.append(source)
    return files


def parts_of(html):
    """How many list items, tables, blocks, headings and pictures there are."""
    return collections.Counter(re.findall(r"<(li|table|pre|blockquote|h[1-6]|img)\b", html))


def on_page_content(html, page, **_):
    """Warns where the page has other parts than by CommonMark, as hosts of repositories show it."""
    if not isinstance(page.file, Source):
        here, expected = parts_of(html), parts_of(MarkdownIt("commonmark").enable("table").render(page.markdown))
        for part in sorted(here | expected):
            if here[part] != expected[part]:
                log.warning("%s: expected %d <%s>, as CommonMark has, given %d. Indent blocks in a list item by four.",
                            page.file.src_uri, expected[part], part, here[part])
