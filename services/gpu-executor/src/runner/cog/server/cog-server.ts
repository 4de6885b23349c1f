import { errorMessage } from '@runledger/contracts/events/error-message';
import { errorOf, type AttemptError } from '@runledger/contracts/events/run-error';
import { untilAborted } from '@runledger/resilience/abort';
import type { GpuSlot } from '../../../gpu/gpu-slots.ts';
import type { ProcessEnd } from '../../../supervision/supervised-process.ts';
import type { ServerEntry } from '../../model-server/server-entry.ts';
import type { RunnerHost } from '../../runner-type.ts';
import type { LogLine } from '../../runner.ts';
import { cogApi, untilHealth, type CogApi, type HealthAnswer } from './cog-api.ts';
import { openOwnServers } from './own-servers.ts';
import { readinessOf, whyNotReady } from './why-not-ready.ts';

/** The server or the servers of one model. */
export interface CogServers {
  /** Waits until one of them executes a prediction of the slot. */
  acquire(slot: GpuSlot, waiting: Waiting, signal: AbortSignal): Promise<AcquiredServer>;
}

export interface Waiting {
  /** The model is not loaded, or others are before this run. */
  readonly onLoading: () => void;
  /** What a server of the executor itself writes while it loads. */
  readonly onLine: (line: LogLine) => void;
}

export type AcquiredServer =
  | { readonly kind: 'ready'; readonly lease: ServerLease }
  | { readonly kind: 'refused'; readonly error: AttemptError }
  | { readonly kind: 'cancelled' };

/** One run has the server until it gives it back, once. */
export interface ServerLease {
  readonly api: CogApi;
  /** How long this run waited for the setup; 0 when it was over. */
  readonly loadingMs: number;
  /** Settles when the executor's own server has ended. */
  readonly ended: Promise<ProcessEnd>;
  /** Aborted then. */
  readonly gone: AbortSignal;
  /** The executor started it, and can start it again. */
  readonly isOwn: boolean;
  release(): void;
  /** It must not execute another prediction before it is started again. The executor's own is killed. */
  discard(): Promise<void>;
}

export interface CogModel extends ServerEntry {
  readonly name: string;
}

export const openServers = (model: CogModel, host: RunnerHost, startTimeoutMs: number): CogServers =>
  model.command === null
    ? openForeignServer(model, startTimeoutMs)
    : openOwnServers({ ...model, command: model.command }, host, startTimeoutMs);

/** A server that runs anyway. All slots share it, one run after the other. */
const openForeignServer = ({ name, url }: CogModel, startTimeoutMs: number): CogServers => {
  const api = cogApi(url);
  let lastTurn: Promise<unknown> = Promise.resolve();
  return {
    acquire: async (_slot, { onLoading }, signal) => {
      const before = lastTurn;
      const turn = Promise.withResolvers<null>();
      lastTurn = before.then(() => turn.promise);
      const release = (): void => turn.resolve(null);
      await untilAborted(before, signal);
      const acquired = await untilReady({ name, api, startTimeoutMs, onLoading, signal });
      if (acquired.kind !== 'ready') {
        release();
        return acquired;
      }
      const lease: ServerLease = {
        api,
        loadingMs: acquired.loadingMs,
        ended: new Promise(() => undefined),
        gone: new AbortController().signal,
        isOwn: false,
        release,
        discard: async () => release(),
      };
      return { kind: 'ready', lease };
    },
  };
};

interface ForeignServer {
  readonly name: string;
  readonly api: CogApi;
  readonly startTimeoutMs: number;
  readonly onLoading: () => void;
  readonly signal: AbortSignal;
}

type ReadyServer =
  | { readonly kind: 'ready'; readonly loadingMs: number }
  | Exclude<AcquiredServer, { readonly kind: 'ready' }>;

const untilReady = async (server: ForeignServer): Promise<ReadyServer> => {
  const { name, api, startTimeoutMs, onLoading, signal } = server;
  if (signal.aborted) return { kind: 'cancelled' };
  const since = performance.now();
  let last: HealthAnswer | null = null;
  let isLoading = false;
  const answer = await untilHealth(
    api,
    (health) => readinessOf(health) !== 'wait',
    AbortSignal.any([signal, AbortSignal.timeout(startTimeoutMs)]),
    (health) => {
      if (last === null) onLoading();
      last = health;
      // A server that executes something else has its model.
      isLoading ||= health.kind === 'unreachable' || health.health?.kind !== 'busy';
    },
  );
  if (signal.aborted) return { kind: 'cancelled' };
  if (answer !== undefined && readinessOf(answer) === 'ready') {
    return { kind: 'ready', loadingMs: isLoading ? performance.now() - since : 0 };
  }
  const waited = answer === undefined ? ` It was waited for ${startTimeoutMs / 1_000} s.` : '';
  const why = whyNotReady(name, answer ?? last ?? { kind: 'unreachable', why: 'timeout' });
  return { kind: 'refused', error: errorOf('setup_failed', errorMessage(`${why}${waited}`)) };
};
