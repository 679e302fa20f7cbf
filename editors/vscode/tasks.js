// Tasks of the systems of a workspace: check, plan and run; findings appear under Problems.
const { otherCommand } = require("./programs");

const COMMANDS = { validate: ["--format", "github"], plan: [], run: [] };
const SYSTEMS = "**/{SystemStructure.ssd,*.ssp}";
const MOST = 50;

/** A task of one command for one system: `definition` is as in tasks.json. */
function taskOf(vscode, definition, scope) {
  const { command, system } = definition;
  const [program, ...words] = otherCommand(vscode, command, system, ...COMMANDS[command]);
  const execution = new vscode.ProcessExecution(program, words, { cwd: scope.uri.fsPath });
  const matchers = command === "validate" ? ["$ssptool"] : [];
  const task = new vscode.Task(definition, scope, `${command} ${system}`, "ssptool", execution, matchers);
  if (command === "validate") {
    task.group = vscode.TaskGroup.Test;
  }
  return task;
}

/** The system of a file: the folder of a structure, or a package; by its path in the workspace folder. */
function systemOf(vscode, uri) {
  const name = vscode.workspace.asRelativePath(uri, false);
  return name.endsWith(".ssp") ? name : name.replace(/\/?SystemStructure\.ssd$/, "") || ".";
}

class SystemTasks {
  constructor(vscode) {
    this.vscode = vscode;
  }

  async provideTasks() {
    const { vscode } = this;
    const files = await vscode.workspace.findFiles(SYSTEMS, undefined, MOST);
    return files.flatMap((uri) => {
      const scope = vscode.workspace.getWorkspaceFolder(uri);
      const system = systemOf(vscode, uri);
      return scope ? Object.keys(COMMANDS).map((command) => taskOf(vscode, { type: "ssptool", command, system }, scope)) : [];
    });
  }

  resolveTask(task) {
    const known = Object.hasOwn(COMMANDS, task.definition.command) && typeof task.definition.system === "string";
    return known && task.scope?.uri ? taskOf(this.vscode, task.definition, task.scope) : undefined;
  }
}

module.exports = { COMMANDS, SystemTasks, systemOf };
