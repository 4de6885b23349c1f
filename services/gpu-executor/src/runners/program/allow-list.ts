import { isJsonObject } from '@runledger/contracts/json';
import type { ConfigProblem } from '@runledger/service-kit/config';
import type { Limits } from '../../residents/lifecycle.decide.ts';
import {
  locateCommand,
  readCommand,
  type OperatorCommand,
  readOrganisations,
  type Organisations,
} from '../operator-command.ts';

/** A program that stays between runs. */
export interface ResidentProgram extends OperatorCommand {
  readonly limits: Limits;
}

/** The programs by their names, and by how they are run: one process for each run, or one that is kept for a slot. */
export interface AllowList {
  readonly once: ReadonlyMap<string, OperatorCommand>;
  readonly resident: ReadonlyMap<string, ResidentProgram>;
  /** Who may use a program. */
  readonly organisations: ReadonlyMap<string, Organisations>;
}
export type ReadAllowList = { ok: true; programs: AllowList } | { ok: false; problems: ConfigProblem[] };

/** Reads `EXECUTOR_PROGRAMS` and finds each command, so that a wrong entry is found at the start and not by a run. */
export const readAllowList = async (setting: string, path: string): Promise<ReadAllowList> => {
  const entries = parseEntries(setting);
  if (entries === null) return { ok: false, problems: [problem('is not a JSON object')] };
  const once = new Map<string, OperatorCommand>();
  const resident = new Map<string, ResidentProgram>();
  const organisations = new Map<string, Organisations>();
  const problems: ConfigProblem[] = [];
  for (const [name, value] of entries) {
    const program = parseProgram(name, value);
    const found = typeof program === 'string' ? program : await locateProgram(program, path);
    if (typeof found === 'string') {
      problems.push(problem(`has the program ${JSON.stringify(name)}, ${found}`));
      continue;
    }
    organisations.set(name, found.organisations);
    if (found.limits === null) once.set(name, found.command);
    else resident.set(name, { ...found.command, limits: found.limits });
  }
  const preloaded = [...resident].flatMap(([name, { limits }]) => (limits.preload ? [name] : []));
  if (preloaded.length > 1)
    problems.push(problem(`preloads ${preloaded.join(' and ')}, but a slot keeps one process`));
  return problems.length > 0
    ? { ok: false, problems }
    : { ok: true, programs: { once, resident, organisations } };
};

const problem = (wrong: string): ConfigProblem => ({
  variable: 'EXECUTOR_PROGRAMS',
  wrong,
  right:
    '{"name": ["command", "argument"]} or {"name": {"command": "…", "args": […], "env": {…}, "cwd": "…", "mode": "once"}}, ' +
    'for "mode": "resident" also "start_timeout_s", "idle_timeout_s", "max_runs" and "preload", ' +
    '"readable" and "writable" for absolute paths that it may see, "network" as "none", "outgoing" or "host", "shared" as true or false, ' +
    '"resources": {"memory_bytes", "processes", "open_files", "disk_bytes", "cpus", "cpu_s", "tmp_bytes"} for its limits, ' +
    'and "organisations": ["…"] for a program that is not for all; ' +
    'with commands that are absolute or on PATH and can be executed',
});

const parseEntries = (setting: string): [string, unknown][] | null => {
  try {
    const value: unknown = JSON.parse(setting);
    return isJsonObject(value) ? Object.entries(value) : null;
  } catch {
    return null;
  }
};

interface ProgramEntry {
  readonly command: OperatorCommand;
  /** Null: one process for each run. */
  readonly limits: Limits | null;
  readonly organisations: Organisations;
}

const locateProgram = async (entry: ProgramEntry, path: string): Promise<ProgramEntry | string> => {
  const command = await locateCommand(entry.command, path);
  return typeof command === 'string' ? command : { ...entry, command };
};

/** The program, or what is wrong with it. */
const parseProgram = (name: string, value: unknown): ProgramEntry | string => {
  if (!/^[A-Za-z0-9][\w.-]{0,127}$/.test(name))
    return 'whose name is not 1 to 128 letters, digits, dots, dashes or underscores';
  const given = Array.isArray(value) ? { command: value[0], args: value.slice(1) } : value;
  if (!isJsonObject(given)) return 'which is neither a list nor an object';
  const command = readCommand(given);
  const limits = readLimits(given);
  const organisations = readOrganisations(given);
  if (typeof command === 'string') return command;
  if (typeof limits === 'string') return limits;
  if (typeof organisations === 'string') return organisations;
  return { command, limits, organisations };
};

const DEFAULT_START_TIMEOUT_S = 300;
/** A timer cannot wait longer than 24 days. */
const MAX_TIMEOUT_S = 7 * 24 * 3_600;
const RESIDENT_ONLY = ['start_timeout_s', 'idle_timeout_s', 'max_runs', 'preload'];

/** The limits of a resident program in the allow-list, null for `"mode": "once"`, or what is wrong, after the name of the program. */
const readLimits = (given: Readonly<Record<string, unknown>>): Limits | null | string => {
  const { mode = 'once' } = given;
  if (mode === 'once') {
    const name = RESIDENT_ONLY.find((member) => Object.hasOwn(given, member));
    return name === undefined ? null : `which has ${name}, but not the mode "resident"`;
  }
  if (mode !== 'resident') return 'whose mode is neither "once" nor "resident"';
  const {
    start_timeout_s = DEFAULT_START_TIMEOUT_S,
    idle_timeout_s = null,
    max_runs = null,
    preload = false,
  } = given;
  if (!isTimeout(start_timeout_s)) return notTimeout('start_timeout_s');
  if (idle_timeout_s !== null && !isTimeout(idle_timeout_s)) return notTimeout('idle_timeout_s');
  if (max_runs !== null && !isCount(max_runs)) return 'whose max_runs is not a positive integer';
  if (typeof preload !== 'boolean') return 'whose preload is neither true nor false';
  if (preload && idle_timeout_s !== null)
    return 'which has preload and idle_timeout_s: it would be loaded only to be stopped again';
  return {
    startTimeoutMs: start_timeout_s * 1_000,
    idleTimeoutMs: idle_timeout_s === null ? null : idle_timeout_s * 1_000,
    maxRuns: max_runs,
    preload,
  };
};

const isTimeout = (value: unknown): value is number =>
  typeof value === 'number' && value > 0 && value <= MAX_TIMEOUT_S;

const notTimeout = (name: string): string =>
  `whose ${name} is not a number of seconds up to ${MAX_TIMEOUT_S}`;

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) > 0;
