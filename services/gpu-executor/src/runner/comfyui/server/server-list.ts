import { isJsonObject, parsePlainJson } from '@runledger/contracts/json';
import type { ConfigProblem } from '@runledger/service-kit/config/config';
import { isAbsolute } from 'node:path';
import type { OperatorCommand } from '../../../runners/operator-command.ts';
import { readServerEntry, type ServerEntry } from '../../model-server/server-entry.ts';

export interface ComfyEntry extends ServerEntry {
  /** The output folder of the server as the executor sees it; null where the operator does not say it. */
  readonly output: string | null;
}

export type ReadServers =
  | { readonly ok: true; readonly servers: readonly ComfyEntry[] }
  | { readonly ok: false; readonly problems: readonly ConfigProblem[] };

/** Reads `EXECUTOR_COMFYUI` and finds each command. There are none, or one for each slot. */
export const readServers = async (setting: string, path: string, slots: number): Promise<ReadServers> => {
  const entries = parsePlainJson(setting);
  if (!Array.isArray(entries)) return invalid(['is not a JSON list']);
  const read = await Promise.all(entries.map((entry: unknown) => readEntry(entry, path)));
  const servers = read.filter((server) => typeof server !== 'string');
  const wrong = read.flatMap((server, index) =>
    typeof server === 'string' ? [`has the server ${index}, ${server}`] : [],
  );
  const origins = new Set(servers.map(({ url }) => url.href));
  if (origins.size < servers.length) {
    wrong.push('names a server twice, and a server executes one run at a time');
  }
  if (entries.length > 0 && entries.length !== slots) {
    wrong.push(`has ${entries.length} servers, and this executor has ${slots} slots`);
  }
  return wrong.length > 0 ? invalid(wrong) : { ok: true, servers };
};

const readEntry = async (entry: unknown, path: string): Promise<ComfyEntry | string> => {
  const given = await readServerEntry(entry, path);
  if (typeof given === 'string') return given;
  const read = { ...given, command: given.command === null ? null : writingWhereItRuns(given.command) };
  const output = isJsonObject(entry) ? entry['output'] : undefined;
  if (output === undefined) return { ...read, output: null };
  return typeof output === 'string' && isAbsolute(output)
    ? { ...read, output }
    : 'whose output is not the absolute path of a folder';
};

/** It makes files there, whatever it is told. */
const writingWhereItRuns = (command: OperatorCommand): OperatorCommand => {
  const { cwd, writable = [] } = command;
  return cwd === undefined ? command : { ...command, writable: [...writable, cwd] };
};

const invalid = (wrong: readonly string[]): ReadServers => ({
  ok: false,
  problems: wrong.map((each) => ({
    variable: 'EXECUTOR_COMFYUI',
    wrong: each,
    right:
      '[{"url": "http://127.0.0.1:8188", "command": "…", "args": […], "env": {…}, "cwd": "…", "output": "…"}, …], one server for each slot; ' +
      'without a command the server runs anyway',
  })),
});
