// An editor of .ssd and .ssp files: starts `ssptool studio` for the file and opens its page in the browser, which no frame
// may show. The tab says so, opens the page again, and ends the studio when it is closed.
const childProcess = require("child_process");
const { otherCommand } = require("./programs");

const ADDRESS = /http:\/\/127\.0\.0\.1:\d+\/\S+/;
const HTML = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
const plain = (text) => text.replace(/[&<>"]/g, (one) => HTML[one]);

/** A studio of one file. `told` is called with what happens: opened with its address, or ended with its words. */
class Studio {
  constructor([program, ...words], cwd, told) {
    this.said = "";
    this.process = childProcess.spawn(program, words, { cwd });
    this.process.stdout.setEncoding("utf8").on("data", (text) => this.heard(text, told));
    this.process.stderr.setEncoding("utf8").on("data", (text) => (this.said += text));
    this.process.on("error", (problem) => told({ ended: problem.message }));
    this.process.on("close", () => told({ ended: this.said.trim() || "The studio has ended." }));
    this.printed = "";
  }

  heard(text, told) {
    this.printed += text;
    const found = this.printed.match(ADDRESS);
    if (found && /\s/.test(this.printed.slice(found.index + found[0].length))) {
      this.printed = this.printed.slice(found.index + found[0].length);
      told({ address: found[0] });
    }
  }

  /** Ask for another address: each opens one page only. */
  openAgain() {
    this.process.stdin.write("\n");
  }

  end() {
    this.process.removeAllListeners("close");
    this.process.kill();
  }
}

class StudioEditors {
  constructor(vscode) {
    this.vscode = vscode;
  }

  openCustomDocument(uri) {
    return { uri, dispose() {} };
  }

  resolveCustomEditor({ uri }, panel) {
    const { vscode } = this;
    panel.webview.options = { enableScripts: true };
    if (!vscode.workspace.isTrusted) {
      panel.webview.html = page(panel, "The studio starts programs: trust this workspace first.", []);
      return;
    }
    const folder = vscode.workspace.getWorkspaceFolder(uri)?.uri.fsPath;
    const told = ({ address, ended }) => {
      if (address) {
        vscode.env.openExternal(vscode.Uri.parse(address));
        panel.webview.html = page(panel, "The studio of this file is open in your browser.", ["Open again", "Open as text"]);
      } else {
        panel.webview.html = page(panel, ended, ["Start", "Open as text"]);
      }
    };
    let studio;
    const start = () => {
      studio = new Studio(otherCommand(vscode, "studio", uri.fsPath, "--no-browser"), folder, told);
    };
    panel.webview.html = page(panel, "The studio starts …", []);
    panel.webview.onDidReceiveMessage((wanted) => {
      if (wanted === "Open again") {
        studio.openAgain();
      } else if (wanted === "Start") {
        start();
      } else {
        vscode.commands.executeCommand("vscode.openWith", uri, "default");
      }
    });
    panel.onDidDispose(() => studio.end());
    start();
  }
}

function page(panel, text, buttons) {
  const nonce = Array.from({ length: 24 }, () => Math.floor(Math.random() * 36).toString(36)).join("");
  const policy = `default-src 'none'; style-src 'nonce-${nonce}'; script-src 'nonce-${nonce}'`;
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="${policy}">
<style nonce="${nonce}">body { padding: 2rem; white-space: pre-wrap; } button { margin-right: .5rem; padding: .3rem .8rem; }</style></head>
<body><p>${plain(text)}</p>${buttons.map((one) => `<button>${one}</button>`).join("")}
<script nonce="${nonce}">const editor = acquireVsCodeApi();
for (const button of document.querySelectorAll("button")) button.onclick = () => editor.postMessage(button.textContent);</script></body></html>`;
}

module.exports = { Studio, StudioEditors };
