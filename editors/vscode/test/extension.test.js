// Parts of the extension without VS Code: a stand-in has what they ask of it. `SSPTOOL` names the command, `SYSTEM` a system.
const assert = require("node:assert/strict");
const fs = require("fs");
const os = require("os");
const path = require("path");
const test = require("node:test");
const { otherCommand, serverCommand } = require("../programs");
const { Studio, StudioEditors } = require("../studio");
const { SystemTasks } = require("../tasks");

function standIn({ command, folder = "/nowhere", trusted = true, files = [] } = {}) {
  const scope = { uri: { fsPath: folder }, name: "work" };
  return {
    scope,
    opened: [],
    workspace: {
      isTrusted: trusted,
      workspaceFolders: [scope],
      getConfiguration: () => ({ inspect: () => ({ defaultValue: ["ssptool", "lsp"], globalValue: command }) }),
      findFiles: async () => files.map((name) => ({ fsPath: path.join(folder, name), name })),
      asRelativePath: (uri) => uri.name,
      getWorkspaceFolder: () => scope,
    },
    ProcessExecution: class {
      constructor(program, words, options) {
        Object.assign(this, { program, words, options });
      }
    },
    Task: class {
      constructor(definition, scope, name, source, execution, matchers) {
        Object.assign(this, { definition, scope, name, source, execution, matchers });
      }
    },
    TaskGroup: { Test: "test" },
  };
}

function environment() {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "ssptool-extension-"));
  const file = path.join(folder, ".venv", "bin", "ssptool");
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, "");
  return { folder, file };
}

test("the command is that of the settings, of the environment of a trusted workspace, or of the path", () => {
  const { folder, file } = environment();
  assert.deepEqual(serverCommand(standIn({ folder, command: ["py", "-m", "ssptool", "lsp"] })), ["py", "-m", "ssptool", "lsp"]);
  assert.deepEqual(serverCommand(standIn({ folder })), [file, "lsp"]);
  assert.deepEqual(serverCommand(standIn({ folder, trusted: false })), ["ssptool", "lsp"]);
  assert.deepEqual(serverCommand(standIn()), ["ssptool", "lsp"]);
  assert.deepEqual(otherCommand(standIn({ command: ["py", "-m", "ssptool", "lsp"] }), "plan", "x"), ["py", "-m", "ssptool", "plan", "x"]);
});

test("each system of the workspace has a task for each command", async () => {
  const vscode = standIn({ files: ["plants/a/SystemStructure.ssd", "SystemStructure.ssd", "b.ssp"] });
  const tasks = await new SystemTasks(vscode).provideTasks();
  assert.deepEqual([...new Set(tasks.map((one) => one.definition.system))], ["plants/a", ".", "b.ssp"]);
  const check = tasks.find((one) => one.name === "validate plants/a");
  assert.deepEqual(check.execution.words, ["validate", "plants/a", "--format", "github"]);
  assert.deepEqual(check.matchers, ["$ssptool"]);
  assert.equal(check.execution.options.cwd, "/nowhere");
});

test("a task of tasks.json is made as stated, and one that there is not is left alone", () => {
  const vscode = standIn();
  const tasks = new SystemTasks(vscode);
  const made = tasks.resolveTask({ definition: { type: "ssptool", command: "plan", system: "a" }, scope: vscode.scope });
  assert.deepEqual(made.execution.words, ["plan", "a"]);
  for (const definition of [{ command: "toString", system: "a" }, { command: "plan" }]) {
    assert.equal(tasks.resolveTask({ definition, scope: vscode.scope }), undefined);
  }
});

test("a studio tells its address, another one when asked, and ends", { skip: !process.env.SYSTEM }, async () => {
  const addresses = [];
  await new Promise((resolve, reject) => {
    const studio = new Studio([process.env.SSPTOOL, "studio", process.env.SYSTEM, "--no-browser"], undefined, ({ address, ended }) => {
      if (ended) {
        reject(new Error(ended));
        return;
      }
      addresses.push(address);
      if (addresses.length === 1) {
        studio.openAgain();
      } else {
        studio.process.once("exit", resolve);
        studio.end();
      }
    });
  });
  assert.notEqual(addresses[0], addresses[1]);
});

test("the editor of an untrusted workspace starts nothing, and a program that is missing is named", async () => {
  const panel = () => ({ webview: { onDidReceiveMessage() {} }, onDidDispose() {} });
  const quiet = panel();
  new StudioEditors(standIn({ trusted: false })).resolveCustomEditor({ uri: { fsPath: "/x.ssd" } }, quiet);
  assert.match(quiet.webview.html, /trust this workspace/);
  const ended = await new Promise((resolve) => new Studio(["/no/such/program"], undefined, resolve));
  assert.match(ended.ended, /ENOENT/);
});
