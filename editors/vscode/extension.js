// Starts `ssptool lsp` for SSP documents, offers tasks, and opens systems in the studio.
const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");
const { serverCommand } = require("./programs");
const { StudioEditors } = require("./studio");
const { SystemTasks } = require("./tasks");

let client;

async function start() {
  const [command, ...args] = serverCommand(vscode);
  const cwd = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath;
  client = new LanguageClient(
    "ssptool",
    "ssptool",
    { command, args, options: { cwd } },
    {
      documentSelector: [
        { scheme: "file", language: "ssp" },
        // Settings, studies and scenarios: the server leaves files of others alone.
        { scheme: "file", pattern: "**/*.{toml,yaml,yml}" },
      ],
    },
  );
  try {
    await client.start();
  } catch {
    client = undefined;
    const choice = await vscode.window.showErrorMessage(
      `The language server cannot be started with: ${[command, ...args].join(" ")}. ` +
        "Install it with: pip install 'ssptool[lsp]', or set ssptool.command.",
      "Open settings",
    );
    if (choice) {
      await vscode.commands.executeCommand("workbench.action.openSettings", "ssptool.command");
    }
  }
}

async function stop() {
  const running = client;
  client = undefined;
  await running?.stop();
}

async function activate(context) {
  const restart = async () => {
    await stop();
    await start();
  };
  context.subscriptions.push(
    vscode.commands.registerCommand("ssptool.restart", restart),
    vscode.workspace.onDidChangeConfiguration((event) => event.affectsConfiguration("ssptool.command") && restart()),
    vscode.workspace.onDidGrantWorkspaceTrust(restart),
    vscode.tasks.registerTaskProvider("ssptool", new SystemTasks(vscode)),
    vscode.window.registerCustomEditorProvider("ssptool.studio", new StudioEditors(vscode)),
  );
  await start();
}

module.exports = { activate, deactivate: stop };
