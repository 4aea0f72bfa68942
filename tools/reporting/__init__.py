"""What the programs that measure and write pages share: arguments, timing, tables and the style of charts."""
