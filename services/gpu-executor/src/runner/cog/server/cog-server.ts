import { openForeignServer } from '../../model-server/foreign-server.ts';
import type { ModelServer, ServerLease, ServerType } from '../../model-server/model-server.ts';
import { openOwnServer } from '../../model-server/own-server.ts';
import type { ServerEntry } from '../../model-server/server-entry.ts';
import type { Organisations } from '../../organisations.ts';
import type { RunnerHost } from '../../runner-type.ts';
import { serverLine, userLine } from '../core/server-line.ts';
import { cogApi, type CogApi } from './cog-api.ts';
import { cogState } from './cog-state.ts';
import { sourceOfCommandJoins } from './model-source.ts';

export type CogServer = ModelServer<CogApi>;
export type CogLease = ServerLease<CogApi>;

export interface CogModel extends ServerEntry {
  readonly name: string;
  readonly organisations: Organisations;
}

/** Each server makes a folder for each prediction here, and leaves it. No setting changes where (seen in coglet 0.23.1). */
export const PREDICTIONS_FOLDER = '/tmp/coglet/predictions';

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
      const withPort = { ...command, env: { ...command.env, PORT: String(portOf(own)) } };
      return [
        slot.index,
        openOwnServer({ type, url: own, command: withPort, slot, startTimeoutMs }, residents),
      ];
    }),
  );
};

const cogServerType = (model: string, command: ServerEntry['command']): ServerType<CogApi> => ({
  title: model,
  name: `The server of the Cog model ${model}`,
  connect: (url) => cogApi(url, async () => command !== null && sourceOfCommandJoins(command)),
  probe: async (api) => cogState(model, await api.health()),
  preload: false,
  scratch: [PREDICTIONS_FOLDER],
  writesWhereItRuns: false,
  runLine: userLine,
  shownLine: serverLine,
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
