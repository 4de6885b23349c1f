import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { delimiter, isAbsolute, join } from 'node:path';

export type Program = { command: string; args: string[]; env: Record<string, string> };
export type AllowList = ReadonlyMap<string, Program>;
export type ReadAllowList = { ok: true; programs: AllowList } | { ok: false; problems: string[] };

const form = 'write {"name": ["command", "argument"]} or {"name": {"command": "…", "args": […], "env": {…}}}';

/** Reads `EXECUTOR_PROGRAMS` and finds each command, so that a wrong entry is known at the start and not by a run. */
export const readAllowList = async (setting: string, path: string): Promise<ReadAllowList> => {
  const entries = parseEntries(setting);
  if (entries === null) return { ok: false, problems: [`EXECUTOR_PROGRAMS is not a JSON object; ${form}.`] };
  const programs = new Map<string, Program>();
  const problems: string[] = [];
  for (const [name, value] of entries) {
    const program = parseProgram(name, value);
    const found = typeof program === 'string' ? program : await locate(name, program, path);
    if (typeof found === 'string') problems.push(found);
    else programs.set(name, found);
  }
  return problems.length > 0 ? { ok: false, problems } : { ok: true, programs };
};

/** Null when it can be executed now, else the system's name of the reason, such as `ENOENT`. */
export const whyNotExecutable = async (command: string): Promise<string | null> => {
  try {
    await access(command, constants.X_OK);
    return (await stat(command)).isFile() ? null : 'EISDIR';
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : String(error);
  }
};

const parseEntries = (setting: string): [string, unknown][] | null => {
  try {
    const value: unknown = JSON.parse(setting);
    return isObject(value) ? Object.entries(value) : null;
  } catch {
    return null;
  }
};

const parseProgram = (name: string, value: unknown): Program | string => {
  if (!/^[A-Za-z0-9][\w.-]{0,127}$/.test(name))
    return `EXECUTOR_PROGRAMS names a program "${name}"; a name has at most 128 letters, digits, dots, dashes or underscores.`;
  const given = Array.isArray(value) ? { command: value[0], args: value.slice(1) } : value;
  if (!isObject(given)) return `EXECUTOR_PROGRAMS has no command for "${name}"; ${form}.`;
  const { command, args = [], env = {} } = given;
  if (!isText(command) || command === '') return `EXECUTOR_PROGRAMS has no command for "${name}"; ${form}.`;
  if (!Array.isArray(args) || !args.every(isText))
    return `EXECUTOR_PROGRAMS gives "${name}" arguments that are not a list of texts; ${form}.`;
  if (!isObject(env)) return `EXECUTOR_PROGRAMS gives "${name}" an env that is not a map of texts; ${form}.`;
  const variables = parseVariables(name, env);
  return typeof variables === 'string' ? variables : { command, args, env: variables };
};

const parseVariables = (name: string, env: Record<string, unknown>): Record<string, string> | string => {
  const variables: Record<string, string> = {};
  for (const [variable, value] of Object.entries(env)) {
    if (!/^[A-Za-z_]\w*$/.test(variable) || !isText(value))
      return `EXECUTOR_PROGRAMS gives "${name}" the variable "${variable}", which is no name with a text as its value.`;
    if (isReserved(variable))
      return `EXECUTOR_PROGRAMS gives "${name}" the variable ${variable}, which the executor sets itself; leave it out.`;
    variables[variable] = value;
  }
  return variables;
};

const isReserved = (variable: string): boolean =>
  variable.startsWith('RUNLEDGER_') ||
  ['CUDA_VISIBLE_DEVICES', 'CUDA_DEVICE_ORDER', 'TMPDIR', '__proto__'].includes(variable);

/** A command without a slash is looked for once, here; the run then uses the absolute path. */
const locate = async (name: string, program: Program, path: string): Promise<Program | string> => {
  if (program.command.includes('/') && !isAbsolute(program.command))
    return `EXECUTOR_PROGRAMS gives "${name}" the relative command ${program.command}; write its absolute path.`;
  const candidates = isAbsolute(program.command)
    ? [program.command]
    : path
        .split(delimiter)
        .filter(isAbsolute)
        .map((folder) => join(folder, program.command));
  let why = 'it is on no folder of PATH';
  for (const command of candidates) {
    const refusal = await whyNotExecutable(command);
    if (refusal === null) return { ...program, command };
    if (refusal !== 'ENOENT' || isAbsolute(program.command))
      why = `${command} cannot be executed (${refusal})`;
  }
  return `EXECUTOR_PROGRAMS gives "${name}" the command ${program.command}, but ${why}; install it or correct the entry.`;
};

const isText = (value: unknown): value is string => typeof value === 'string' && !value.includes('\0');

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
