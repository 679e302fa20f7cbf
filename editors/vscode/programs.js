// The command `ssptool` that belongs to a workspace.
const fs = require("fs");
const path = require("path");

const FOLDERS = [".venv", "venv"];

/** The command of an environment in a folder, if there is one. */
function inEnvironment(folder, platform = process.platform) {
  const file = platform === "win32" ? path.join(folder, "Scripts", "ssptool.exe") : path.join(folder, "bin", "ssptool");
  return fs.existsSync(file) ? file : undefined;
}

/**
 * The words that start the language server: those of the settings; without any, the `ssptool` of an environment in the
 * workspace, and else that of the path. Programs of a workspace are started only if somebody trusts it.
 */
function serverCommand(vscode) {
  const stated = vscode.workspace.getConfiguration("ssptool").inspect("command");
  const chosen = stated?.workspaceFolderValue ?? stated?.workspaceValue ?? stated?.globalValue;
  if (chosen?.length) {
    return chosen;
  }
  const folders = vscode.workspace.isTrusted ? (vscode.workspace.workspaceFolders ?? []) : [];
  const places = folders.flatMap((one) => FOLDERS.map((name) => path.join(one.uri.fsPath, name)));
  const found = places.map((one) => inEnvironment(one)).find((one) => one !== undefined);
  return [found ?? "ssptool", "lsp"];
}

/** The words of another command of the same program: all that starts the server, but for its name `lsp`. */
function otherCommand(vscode, ...words) {
  return [...serverCommand(vscode).filter((word) => word !== "lsp"), ...words];
}

module.exports = { inEnvironment, otherCommand, serverCommand };
