import { openForeignServer } from '../../model-server/foreign-server.ts';
import type { ModelServer, ServerLease, ServerType } from '../../model-server/model-server.ts';
import { openOwnServer } from '../../model-server/own-server.ts';
import type { ServerEntry } from '../../model-server/server-entry.ts';
import type { Organisations } from '../../../runners/operator-command.ts';
import type { RunnerHost } from '../../../runners/runner-type.ts';
import { serverLine, userLine } from '../core/server-line.ts';
import { cogApi, type CogApi } from './cog-api.ts';
import { cogState } from './cog-state.ts';
import { sourceOfCommandJoins } from './model-source.ts';
import { openOutputLog } from './output-log.ts';

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
  { slots, residents }: Pick<RunnerHost, 'slots' | 'residents'>,
  startTimeoutMs: number,
): ReadonlyMap<number, CogServer> => {
  const type = cogServerType(name, command);
  if (command === null) {
    const server = openForeignServer(type, url, startTimeoutMs);
    return new Map(slots.map(({ index }) => [index, server]));
  }
  return new Map(
    slots.map((slot, place) => {
      const own = urlOfSlot(url, place);
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
  shownLine: serverLine,
  hear: ({ outputLog }, line) => outputLog.hear(line),
});

/** The servers of the slots listen on ports one after the other. */
const urlOfSlot = (url: URL, place: number): URL => {
  const own = new URL(url);
  own.port = String(portOf(url) + place);
  return own;
};

export const portOf = ({ port, protocol }: URL): number => {
  if (port !== '') return Number(port);
  return protocol === 'https:' ? 443 : 80;
};
