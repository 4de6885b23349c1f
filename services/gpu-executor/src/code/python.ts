import { execFile } from 'node:child_process';
import { realpath } from 'node:fs/promises';
import { promisify } from 'node:util';
import { isJsonObject, parsePlainJson } from '@runledger/contracts/json';
import { messageOf } from '@runledger/resilience/errors';
import { locateCommand } from '../runners/operator-command.ts';

/** A Python of the machine. */
export interface Python {
  /** Such as `3.11.7`. */
  readonly version: string;
  /** As it was found: of a virtual environment, with its packages. */
  readonly executable: string;
  /** The one behind it, which new environments are made from. */
  readonly base: string;
}

/** The file of a tool on PATH; null without it. */
export const findTool = async (name: string, path: string): Promise<string | null> => {
  const found = await locateCommand({ command: name, args: [], env: {} }, path);
  return typeof found === 'string' ? null : found.command;
};

/** Of that version, such as `3.11`, or `python3` without one. Null when PATH has none; a text says why one cannot be used. */
export const findPython = async (
  version: string | undefined,
  path: string,
): Promise<Python | string | null> => {
  const command = await findTool(version === undefined ? 'python3' : `python${version}`, path);
  if (command === null) return null;
  const known = asked.get(command);
  if (known !== undefined && performance.now() - known.at < HOLDS_MS) return known.python;
  const python = ask(command, path);
  asked.set(command, { at: performance.now(), python });
  return python;
};

/** It may be another one after an update of the machine. */
const HOLDS_MS = 60_000;
const asked = new Map<string, { readonly at: number; readonly python: Promise<Python | string> }>();

const SCRIPT =
  'import json, platform, sys; print(json.dumps([platform.python_version(), sys.executable, getattr(sys, "_base_executable", sys.executable)]))';

/** A name on PATH may be a script that chooses one, as of pyenv: only the Python itself knows. */
const ask = async (command: string, path: string): Promise<Python | string> => {
  try {
    const { stdout } = await promisify(execFile)(command, ['-I', '-c', SCRIPT], {
      env: { PATH: path },
      timeout: ASK_WITHIN_MS,
    });
    const found: unknown = parsePlainJson(`{"found": ${stdout}}`);
    const [version, executable, base] = isJsonObject(found) && Array.isArray(found.found) ? found.found : [];
    if (typeof version !== 'string' || typeof executable !== 'string' || typeof base !== 'string')
      return `${command} does not say its version`;
    return { version, executable, base: await realpath(base) };
  } catch (error) {
    return `${command} cannot be used: ${messageOf(error)}`;
  }
};

const ASK_WITHIN_MS = 30_000;
