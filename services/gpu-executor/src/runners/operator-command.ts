import { isReservedVariable } from '@runledger/contracts/catalogue/code';
import { isJsonObject } from '@runledger/contracts/json';
import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { delimiter, isAbsolute, join } from 'node:path';
import { MAX_DEDICATED_TO, type ExecutorRegistered } from '@runledger/contracts/events/fleet-event';
import { isOrgId } from '@runledger/contracts/ids';
import { codeOf } from '@runledger/resilience/errors';
import { NETWORK_ACCESSES, type NetworkAccess } from '../isolation/isolation.ts';
import { readOwnLimits, type OwnLimits } from '../supervision/program-limits.ts';

/** A command that the operator allows, as settings have it. */
export interface OperatorCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** The folder in which it runs. */
  readonly cwd?: string;
  /** Files and folders that it may see beside the system's, its own file, its folder and the paths in its arguments. */
  readonly readable?: readonly string[];
  /** Those that it may also change. */
  readonly writable?: readonly string[];
  /** `outgoing` without it, for a program; a model server has `host`. */
  readonly network?: NetworkAccess;
  /** The executor's own `PATH`: where the `env` of a `#!` line looks, unless `env` has another one. */
  readonly path?: string;
  /** Its process may be kept from the run of one organisation to that of another one. */
  readonly shared?: boolean;
  /** What it may use of the machine, where that is not what the settings say. */
  readonly resources?: OwnLimits;
}

/** The command of an object with its members, or what is wrong with it, after the name of the thing. */
export const readCommand = (given: Readonly<Record<string, unknown>>): OperatorCommand | string => {
  const { command, args = [], env = {}, cwd, readable, writable, network, shared, resources = {} } = given;
  if (!isText(command) || command === '') return 'which has no command';
  if (!Array.isArray(args) || !args.every(isText)) return 'whose arguments are not a list of texts';
  if (!isJsonObject(env)) return 'whose env is not a map of texts';
  if (cwd !== undefined && !(isText(cwd) && isAbsolute(cwd))) return 'whose cwd is not an absolute path';
  if (readable !== undefined && !isPaths(readable)) return 'whose readable is not a list of absolute paths';
  if (writable !== undefined && !isPaths(writable)) return 'whose writable is not a list of absolute paths';
  if (network !== undefined && !isNetworkAccess(network))
    return `whose network is none of ${NETWORK_ACCESSES.join(', ')}`;
  if (shared !== undefined && typeof shared !== 'boolean') return 'whose shared is neither true nor false';
  const ownLimits = readOwnLimits(resources);
  if (typeof ownLimits === 'string') return ownLimits;
  const variables = parseVariables(env);
  if (typeof variables === 'string') return variables;
  return {
    command,
    args,
    env: variables,
    ...(cwd === undefined ? {} : { cwd }),
    ...(readable === undefined ? {} : { readable }),
    ...(writable === undefined ? {} : { writable }),
    ...(network === undefined ? {} : { network }),
    ...(shared === undefined ? {} : { shared }),
    ...(Object.keys(ownLimits).length === 0 ? {} : { resources: ownLimits }),
  };
};

const parseVariables = (env: Record<string, unknown>): Record<string, string> | string => {
  const variables: Record<string, string> = {};
  for (const [variable, value] of Object.entries(env)) {
    if (!/^[A-Za-z_]\w*$/.test(variable) || !isText(value))
      return `whose variable ${JSON.stringify(variable)} is not a name with a text as its value`;
    if (isReservedVariable(variable))
      return `whose variable ${variable} is one that the executor sets itself`;
    variables[variable] = value;
  }
  return variables;
};

/** Searched for once, at the start, so that a wrong entry is found there and not by a run. Its command is then absolute. */
export const locateCommand = async <Command extends OperatorCommand>(
  given: Command,
  path: string,
): Promise<Command | string> => {
  const candidates = candidatesOf(given, path);
  if (candidates.length === 0) return `whose command ${given.command} is relative, but to no known folder`;
  let why = `whose command ${given.command} is in no folder of PATH`;
  for (const command of candidates) {
    const refusal = await whyNotExecutable(command);
    if (refusal === null) return { ...given, command, path };
    if (refusal !== 'ENOENT' || given.command.includes('/'))
      why = `whose command ${command} cannot be executed (${refusal})`;
  }
  return why;
};

const candidatesOf = ({ command, cwd }: OperatorCommand, path: string): string[] => {
  if (isAbsolute(command)) return [command];
  if (command.includes('/')) return cwd === undefined ? [] : [join(cwd, command)];
  return path
    .split(delimiter)
    .filter(isAbsolute)
    .map((folder) => join(folder, command));
};

/** Null when it can be executed now, else the system's error code, such as `ENOENT`. */
export const whyNotExecutable = async (command: string): Promise<string | null> => {
  try {
    await access(command, constants.X_OK);
    return (await stat(command)).isFile() ? null : 'EISDIR';
  } catch (error) {
    return codeOf(error);
  }
};

const isNetworkAccess = (value: unknown): value is NetworkAccess =>
  NETWORK_ACCESSES.some((access) => access === value);

/** A program may name so many folders of its own. */
const MAX_PATHS = 64;

const isPaths = (value: unknown): value is string[] =>
  Array.isArray(value) &&
  value.length <= MAX_PATHS &&
  value.every((path) => isText(path) && isAbsolute(path));

const isText = (value: unknown): value is string => typeof value === 'string' && !value.includes('\0');

/** Those that may use what an entry of a setting names; null for all. */
export type Organisations = readonly string[] | null;

/** The `organisations` of an entry, or what is wrong with them, after the name of the thing. */
export const readOrganisations = ({
  organisations = null,
}: Readonly<Record<string, unknown>>): Organisations | string => {
  if (organisations === null) return null;
  const isList = Array.isArray(organisations) && organisations.length <= MAX_DEDICATED_TO;
  return isList && organisations.every((id) => typeof id === 'string' && isOrgId(id))
    ? organisations
    : `whose organisations are not a list of at most ${MAX_DEDICATED_TO} ids of organisations`;
};

/** The capabilities that only some organisations may use. */
export const dedicatedOf = (
  organisations: Iterable<readonly [capability: string, Organisations]>,
): NonNullable<ExecutorRegistered['dedicated']> =>
  Object.fromEntries(
    [...organisations].flatMap(([capability, ids]) => (ids === null ? [] : [[capability, [...ids]]])),
  );
