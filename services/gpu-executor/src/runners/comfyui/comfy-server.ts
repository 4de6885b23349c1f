import { isJsonObject, parsePlainJson } from '@runledger/contracts/json';
import type { ConfigProblem } from '@runledger/service-kit/config';
import { isAbsolute, join } from 'node:path';
import type { GpuSlot } from '../../gpu-slots.ts';
import type { ResidentProcesses } from '../../residents/resident-processes.ts';
import { openForeignServer } from '../model-server/foreign-server.ts';
import {
  type ModelServer,
  type ServerLease,
  type ServerType,
  readServerEntry,
  type ServerEntry,
} from '../model-server/model-server.ts';
import { openOwnServer, type KeptServer, type OwnServer } from '../model-server/own-server.ts';
import { throughSocket } from '../model-server/through-socket.ts';
import { comfyApi, type ComfyApi } from './comfy-api.ts';
import type { OperatorCommand } from '../operator-command.ts';

export type ComfyServer = ModelServer<ComfyApi>;
export type ComfyLease = ServerLease<ComfyApi>;

/** The server of one slot. */
export const openComfyServer = (
  { url, command, output }: ComfyEntry,
  slot: GpuSlot,
  residents: ResidentProcesses,
  startTimeoutMs: number,
): ComfyServer => {
  const cwd = command?.cwd ?? null;
  const type = { ...COMFYUI, connect: (at: URL) => comfyApi({ url: at, output, cwd }) };
  return command === null
    ? openForeignServer(type, url, startTimeoutMs)
    : openOwnServer({ type, url, command, slot, startTimeoutMs }, residents);
};

/** The server of one version in one slot. It listens at a socket file in its temporary folder, with the name `socket`. */
export const openVersionServer = (
  { socket, ...server }: Omit<OwnServer<ComfyApi>, 'type' | 'url'> & { readonly socket: string },
  residents: ResidentProcesses,
): KeptServer<ComfyApi> => {
  const connect: ServerType<ComfyApi>['connect'] = (url, temporary) =>
    comfyApi({ url, output: null, cwd: null }, throughSocket(join(temporary ?? '', socket)));
  return openOwnServer(
    { ...server, type: { ...COMFYUI, connect, preload: false }, url: BEHIND_SOCKET },
    residents,
  );
};

/** Nobody looks the name up. */
const BEHIND_SOCKET = new URL('http://comfyui/');

const NAME = 'The ComfyUI server of the executor';

const COMFYUI: Omit<ServerType<ComfyApi>, 'connect'> = {
  title: 'ComfyUI',
  name: NAME,
  probe: async (api) => {
    const answer = await api.get('system_stats');
    if (answer.kind === 'answered' && answer.status === 200) return { kind: 'ready' };
    const why = answer.kind === 'unreachable' ? answer.why : `status ${answer.status}`;
    const advice = 'Start it, or correct its address in EXECUTOR_COMFYUI.';
    return { kind: 'loading', why: `${NAME} does not answer (${why}). ${advice}` };
  },
  // It takes long, and needs no card before it has a workflow.
  preload: true,
  scratch: [],
  runLine: (line) => line,
  logLine: (line) => line,
  hear: null,
};

interface ComfyEntry extends ServerEntry {
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
