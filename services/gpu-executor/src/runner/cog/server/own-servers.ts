import { errorMessage } from '@runledger/contracts/events/error-message';
import { errorOf } from '@runledger/contracts/events/run-error';
import type { GpuSlot } from '../../../gpu/gpu-slots.ts';
import type { SlotProcesses } from '../../../resident-process/resident-processes.ts';
import type {
  ResidentConnection,
  ResidentSpec,
  StartFailure,
} from '../../../resident-process/resident-spec.ts';
import { describeEnd } from '../../model-server/describe-end.ts';
import { readServerOutput, type ServerOutput } from '../../model-server/server-output.ts';
import type { OperatorCommand } from '../../operator-command.ts';
import type { RunnerHost } from '../../runner-type.ts';
import { serverLine } from '../core/server-line.ts';
import { cogApi, untilHealth, type CogApi } from './cog-api.ts';
import type { AcquiredServer, CogModel, CogServers, Waiting } from './cog-server.ts';
import { readinessOf, whyNotReady } from './why-not-ready.ts';

export interface OwnModel extends CogModel {
  readonly command: OperatorCommand;
}

/** A server for each slot, which the executor starts when a run wants it. */
export const openOwnServers = (model: OwnModel, host: RunnerHost, startTimeoutMs: number): CogServers => {
  const servers = new Map(
    host.slots.map((slot, place) => {
      const url = urlOfSlot(model.url, place);
      const api = cogApi(url);
      const spec = serverProcess({ model, url, api, startTimeoutMs });
      return [slot.index, { api, processes: host.residents.open(spec, [slot]) }] as const;
    }),
  );
  return {
    acquire: async (slot, waiting, signal) => {
      const server = servers.get(slot.index);
      if (server === undefined) throw new Error(`The Cog model ${model.name} has no slot ${slot.index}.`);
      return acquire(server, { ...waiting, model, slot }, signal);
    },
  };
};

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

interface ServerConnection extends ResidentConnection, ServerOutput {
  /** Aborted when the process has ended. */
  readonly gone: AbortSignal;
}

interface ServerProcess {
  readonly model: OwnModel;
  readonly url: URL;
  readonly api: CogApi;
  readonly startTimeoutMs: number;
}

const serverProcess = ({
  model: { name, command },
  url,
  api,
  startTimeoutMs,
}: ServerProcess): ResidentSpec<ServerConnection> => ({
  name: `Cog model ${name}`,
  ...command,
  env: { ...command.env, PORT: String(portOf(url)) },
  limits: { startTimeoutMs, idleTimeoutMs: null, maxRuns: null, preload: false },
  connect: (process, gone) => {
    process.stdin.end();
    const isReady = async (): Promise<string | null> => {
      const answer = await untilHealth(api, (health) => readinessOf(health) !== 'wait', gone);
      // When it ends first, its end says why, and nobody waits for this any more.
      if (answer === undefined) return new Promise(() => undefined);
      return readinessOf(answer) === 'ready' ? null : whyNotReady(name, answer);
    };
    return { ...readServerOutput(process, gone), ready: isReady(), gone };
  },
  askToEnd: (process) => process.terminate(),
});

interface OwnServer {
  readonly api: CogApi;
  readonly processes: SlotProcesses<ServerConnection>;
}

interface Wanted extends Waiting {
  readonly model: OwnModel;
  readonly slot: GpuSlot;
}

const acquire = async (
  { api, processes }: OwnServer,
  { model, slot, onLoading, onLine }: Wanted,
  signal: AbortSignal,
): Promise<AcquiredServer> => {
  let isLoading = false;
  const acquired = await processes.acquire(slot, signal, () => {
    isLoading = true;
    onLoading();
  });
  if (acquired.kind === 'cancelled') return acquired;
  const connection = acquired.kind === 'ready' ? acquired.lease.connection : acquired.connection;
  if (isLoading) {
    for (const { stream, line } of connection?.lastLines() ?? []) onLine({ stream, line: serverLine(line) });
  }
  if (acquired.kind === 'refused') {
    if (acquired.why.kind === 'stopped') return { kind: 'cancelled' };
    const error = errorOf('setup_failed', errorMessage(whyRefused(model.name, acquired.why)));
    return { kind: 'refused', error };
  }
  const { connection: own, ...lease } = acquired.lease;
  return { kind: 'ready', lease: { ...lease, api, gone: own.gone, isOwn: true } };
};

const whyRefused = (name: string, why: Exclude<StartFailure, { readonly kind: 'stopped' }>): string => {
  switch (why.kind) {
    case 'timeout':
      return `The Cog model ${name} was not ready within ${why.ms / 1_000} s. ${SEE_LOG}`;
    case 'not_ready':
      return why.why;
    case 'ended':
      return `The server of the Cog model ${name} ended before its setup was over${describeEnd(why.end)}. ${SEE_LOG}`;
  }
};

const SEE_LOG = 'What it wrote last is in the log of the run.';
