import { isJsonObject } from '@runledger/contracts/json';
import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { delimiter, isAbsolute, join } from 'node:path';
import type { ConfigProblem } from '@runledger/service-kit/config/config';

export interface Program {
  command: string;
  args: string[];
  env: Record<string, string>;
}
export type AllowList = ReadonlyMap<string, Program>;
export type ReadAllowList = { ok: true; programs: AllowList } | { ok: false; problems: ConfigProblem[] };

/** Reads `EXECUTOR_PROGRAMS` and finds each command, so that a wrong entry is found at the start and not by a run. */
export const readAllowList = async (setting: string, path: string): Promise<ReadAllowList> => {
  const entries = parseEntries(setting);
  if (entries === null) return { ok: false, problems: [problem('is not a JSON object')] };
  const programs = new Map<string, Program>();
  const problems: ConfigProblem[] = [];
  for (const [name, value] of entries) {
    const program = parseProgram(name, value);
    const found = typeof program === 'string' ? program : await locate(program, path);
    if (typeof found === 'string')
      problems.push(problem(`has the program ${JSON.stringify(name)}, ${found}`));
    else programs.set(name, found);
  }
  return problems.length > 0 ? { ok: false, problems } : { ok: true, programs };
};

const problem = (wrong: string): ConfigProblem => ({
  variable: 'EXECUTOR_PROGRAMS',
  wrong,
  right:
    '{"name": ["command", "argument"]} or {"name": {"command": "…", "args": […], "env": {…}}}, ' +
    'with commands that are absolute or on PATH and can be executed',
});

/** Null when it can be executed now, else the system's error code, such as `ENOENT`. */
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
    return isJsonObject(value) ? Object.entries(value) : null;
  } catch {
    return null;
  }
};

/** The program, or what is wrong with it. */
const parseProgram = (name: string, value: unknown): Program | string => {
  if (!/^[A-Za-z0-9][\w.-]{0,127}$/.test(name))
    return 'whose name is not 1 to 128 letters, digits, dots, dashes or underscores';
  const given = Array.isArray(value) ? { command: value[0], args: value.slice(1) } : value;
  if (!isJsonObject(given)) return 'which is neither a list nor an object';
  const { command, args = [], env = {} } = given;
  if (!isText(command) || command === '') return 'which has no command';
  if (!Array.isArray(args) || !args.every(isText)) return 'whose arguments are not a list of texts';
  if (!isJsonObject(env)) return 'whose env is not a map of texts';
  const variables = parseVariables(env);
  return typeof variables === 'string' ? variables : { command, args, env: variables };
};

const parseVariables = (env: Record<string, unknown>): Record<string, string> | string => {
  const variables: Record<string, string> = {};
  for (const [variable, value] of Object.entries(env)) {
    if (!/^[A-Za-z_]\w*$/.test(variable) || !isText(value))
      return `whose variable ${JSON.stringify(variable)} is not a name with a text as its value`;
    if (isReserved(variable)) return `whose variable ${variable} is one that the executor sets itself`;
    variables[variable] = value;
  }
  return variables;
};

const isReserved = (variable: string): boolean =>
  variable.startsWith('RUNLEDGER_') ||
  ['CUDA_VISIBLE_DEVICES', 'CUDA_DEVICE_ORDER', 'TMPDIR', '__proto__'].includes(variable);

/** A command without a slash is searched for once, here; runs then use the absolute path. */
const locate = async (program: Program, path: string): Promise<Program | string> => {
  const absolute = isAbsolute(program.command);
  if (!absolute && program.command.includes('/'))
    return `whose command ${program.command} is relative, but to no known folder`;
  const candidates = absolute
    ? [program.command]
    : path
        .split(delimiter)
        .filter(isAbsolute)
        .map((folder) => join(folder, program.command));
  let why = `whose command ${program.command} is in no folder of PATH`;
  for (const command of candidates) {
    const refusal = await whyNotExecutable(command);
    if (refusal === null) return { ...program, command };
    if (refusal !== 'ENOENT' || absolute) why = `whose command ${command} cannot be executed (${refusal})`;
  }
  return why;
};

const isText = (value: unknown): value is string => typeof value === 'string' && !value.includes('\0');
