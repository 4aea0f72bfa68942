// Browsers start no worker from a file. There the search's script runs in a frame instead, which is hidden.
if (location.protocol === "file:") {
    window.Worker = class extends EventTarget {
        constructor(url) {
            super();
            const frame = document.body.appendChild(document.createElement("iframe"));
            frame.hidden = true;
            this.inside = frame.contentWindow;
            this.inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
            const script = this.inside.document.createElement("script");
            this.loaded = new Promise((resolve) => { script.onload = resolve; });
            script.src = url;
            this.inside.document.body.append(script);
        }

        postMessage(data) {
            this.loaded.then(() => this.inside.dispatchEvent(new MessageEvent("message", { data })));
        }
    };
}
