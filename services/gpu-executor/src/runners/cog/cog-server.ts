import { open } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { openForeignServer } from '../model-server/foreign-server.ts';
import type {
  ModelServer,
  ServerLease,
  ServerType,
  ServerEntry,
  ServerState,
} from '../model-server/model-server.ts';
import { openOwnServer } from '../model-server/own-server.ts';
import type { Organisations, OperatorCommand } from '../operator-command.ts';
import type { RunnerHost } from '../runner-type.ts';
import { serverLine, userLine } from './server-log.decide.ts';
import { cogApi, type CogApi, type HealthAnswer } from './cog-api.ts';
import { openOutputLog } from './output-log.ts';
import { readReference, referenceInCogYaml, sourceJoins } from './split-answer.decide.ts';

export type CogServer = ModelServer<CogApi>;
export type CogLease = ServerLease<CogApi>;

export interface CogModel extends ServerEntry {
  readonly name: string;
  readonly organisations: Organisations;
}

/** Each server makes a folder for each prediction here, and leaves it. No setting changes where (seen in coglet 0.23.1). */
export const PREDICTIONS_FOLDER = '/tmp/coglet/predictions';

/** At this level it logs the names of the files that a model puts out: some lines for each prediction. */
const LOGS_OUTPUTS = { COG_LOG_LEVEL: 'debug' };

/** The servers of a model, by the index of their slot: one for each slot when the executor starts them, or one that all share. */
export const openCogServers = (
  { name, url, command }: CogModel,
  { slots, residents }: RunnerHost,
  startTimeoutMs: number,
): ReadonlyMap<number, CogServer> => {
  const type = cogServerType(name, command);
  if (command === null) {
    const server = openForeignServer(type, url, startTimeoutMs);
    return new Map(slots.map(({ index }) => [index, server]));
  }
  return new Map(
    slots.map((slot, index) => {
      const own = urlOfSlot(url, index);
      const told = { ...command, env: { ...LOGS_OUTPUTS, ...command.env, PORT: String(portOf(own)) } };
      return [slot.index, openOwnServer({ type, url: own, command: told, slot, startTimeoutMs }, residents)];
    }),
  );
};

const cogServerType = (model: string, command: ServerEntry['command']): ServerType<CogApi> => ({
  title: model,
  name: `The server of the Cog model ${model}`,
  connect: (base, temporary) =>
    cogApi({
      base,
      temporary,
      sourceJoins: async () => command !== null && sourceOfCommandJoins(command),
      outputLog: openOutputLog(command !== null),
    }),
  probe: async (api) => cogState(model, await api.health()),
  preload: false,
  scratch: [PREDICTIONS_FOLDER],
  runLine: userLine,
  logLine: serverLine,
  hear: ({ outputLog }, line) => outputLog.hear(line),
});

/** The servers of the slots listen on ports one after the other. */
const urlOfSlot = (url: URL, index: number): URL => {
  const own = new URL(url);
  own.port = String(portOf(url) + index);
  return own;
};

export const portOf = ({ port, protocol }: URL): number => {
  if (port !== '') return Number(port);
  return protocol === 'https:' ? 443 : 80;
};

/** What the server of a model says about itself, by its health. */
const cogState = (model: string, answer: HealthAnswer): ServerState => {
  const server = `The server of the Cog model ${model}`;
  if (answer.kind === 'unreachable')
    return { kind: 'loading', why: `${server} does not answer (${answer.why}).` };
  if (answer.health === null)
    return { kind: 'loading', why: `What listens at the url of the Cog model ${model} is no Cog server.` };
  switch (answer.health.kind) {
    case 'ready':
      return { kind: 'ready' };
    case 'starting':
      return { kind: 'loading', why: `The setup of the Cog model ${model} is not over.` };
    case 'busy':
      return {
        kind: 'busy',
        why: `${server} executes predictions of somebody else, or one that does not heed its cancel.`,
      };
    case 'setup_failed':
      return {
        kind: 'never',
        why: `The setup of the Cog model ${model} failed. ${lastLines(answer.health.logs)}`,
      };
    case 'broken':
      return {
        kind: 'never',
        why: `${server} executes no predictions any more (${answer.health.status}): start it again.`,
      };
  }
};

const lastLines = (logs: string): string =>
  logs === '' ? 'It printed nothing.' : `It says at the end:\n${logs}`;

const MAX_BYTES = 1024 ** 2;

/** Whether the source of the model that a command starts says that its output is the pieces of one text. False when it cannot be read. */
const sourceOfCommandJoins = async ({ cwd, env }: OperatorCommand): Promise<boolean> => {
  if (cwd === undefined) return false;
  const stub = env['COG_PREDICT_TYPE_STUB'];
  const model =
    stub === undefined ? referenceInCogYaml(await textOf(join(cwd, 'cog.yaml'))) : readReference(stub);
  return model !== null && sourceJoins(await textOf(resolve(cwd, model.file)), model.name);
};

/** Its beginning; empty when it cannot be read. */
const textOf = async (path: string): Promise<string> => {
  try {
    await using file = await open(path);
    const { bytesRead, buffer } = await file.read(Buffer.alloc(MAX_BYTES), 0, MAX_BYTES, 0);
    return buffer.toString('utf8', 0, bytesRead);
  } catch {
    return '';
  }
};
