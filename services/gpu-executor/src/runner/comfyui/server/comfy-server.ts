import { errorMessage } from '@runledger/contracts/events/error-message';
import { errorOf, type AttemptError } from '@runledger/contracts/events/run-error';
import type { GpuSlot } from '../../../gpu/gpu-slots.ts';
import type { ResidentSpec, StartFailure } from '../../../resident-process/resident-spec.ts';
import type { ResidentProcesses } from '../../../resident-process/resident-processes.ts';
import type { ProcessEnd } from '../../../supervision/supervised-process.ts';
import { describeEnd } from '../../model-server/describe-end.ts';
import type { ServerEntry } from '../../model-server/server-entry.ts';
import type { LogLine } from '../../runner.ts';
import { comfyApi, untilAnswering, type ComfyApi } from './comfy-api.ts';
import { serverProcess, type ServerConnection } from './server-process.ts';

/** The server of one slot, which executes one run at a time. */
export interface ComfyServer {
  readonly url: URL;
  /** Waits until it answers, and starts it when it is the executor's own. */
  acquire(onLine: (line: LogLine) => void, signal: AbortSignal): Promise<AcquiredServer>;
}

type AcquiredServer =
  | { readonly kind: 'ready'; readonly lease: ServerLease }
  | { readonly kind: 'refused'; readonly error: AttemptError }
  | { readonly kind: 'cancelled' };

/** One run has the server until it gives it back, once. */
export interface ServerLease {
  readonly api: ComfyApi;
  /** How long this run waited until it answered; 0 when it was warm. */
  readonly loadingMs: number;
  /** Settles when the executor's own server has ended. */
  readonly ended: Promise<ProcessEnd>;
  /** Aborted then. */
  readonly gone: AbortSignal;
  /** The executor started it, and can start it again. */
  readonly isOwn: boolean;
  /** The node classes that it is known to have. */
  readonly knownNodes: Set<string>;
  /** It can take the next run. */
  release(): Promise<void>;
  /** A run goes on in it that does not heed an interrupt, or it takes no runs any more. The executor's own is killed. */
  discard(): Promise<void>;
}

export const openServer = (
  { url, command }: ServerEntry,
  slot: GpuSlot,
  residents: ResidentProcesses,
  startTimeoutMs: number,
): ComfyServer => {
  const api = comfyApi(url);
  const acquire =
    command === null
      ? acquireForeign(api, startTimeoutMs)
      : acquireOwn(serverProcess({ api, command, slot, startTimeoutMs }), api, slot, residents);
  return { url, acquire };
};

type Acquire = ComfyServer['acquire'];

const acquireForeign = (api: ComfyApi, startTimeoutMs: number): Acquire => {
  const knownNodes = new Set<string>();
  return async (_, signal) => {
    const since = performance.now();
    const answers = await untilAnswering(api, AbortSignal.any([signal, AbortSignal.timeout(startTimeoutMs)]));
    if (signal.aborted) return { kind: 'cancelled' };
    if (answers.kind === 'silent') {
      const message = `The ComfyUI server of the executor has not answered for ${startTimeoutMs / 1_000} seconds. Start it, or correct its address in EXECUTOR_COMFYUI.`;
      return { kind: 'refused', error: errorOf('setup_failed', message) };
    }
    const lease: ServerLease = {
      api,
      loadingMs: answers.tries === 1 ? 0 : performance.now() - since,
      ended: new Promise(() => undefined),
      gone: new AbortController().signal,
      isOwn: false,
      knownNodes,
      release: async () => undefined,
      discard: async () => undefined,
    };
    return { kind: 'ready', lease };
  };
};

const acquireOwn = (
  spec: ResidentSpec<ServerConnection>,
  api: ComfyApi,
  slot: GpuSlot,
  residents: ResidentProcesses,
): Acquire => {
  const processes = residents.open(spec, [slot]);
  return async (onLine, signal) => {
    const acquired = await processes.acquire(slot, signal);
    if (acquired.kind === 'cancelled') return acquired;
    if (acquired.kind === 'refused') {
      for (const line of acquired.connection?.lastLines() ?? []) onLine(line);
      return { kind: 'refused', error: errorOf('setup_failed', errorMessage(whyRefused(acquired.why))) };
    }
    const { connection, loadingMs, ended, ...held } = acquired.lease;
    const stopListening = connection.listen(onLine);
    const { gone, knownNodes } = connection;
    const release = async (): Promise<void> => {
      await connection.untilQuiet();
      stopListening();
      held.release();
    };
    const discard = async (): Promise<void> => {
      await held.discard();
      stopListening();
    };
    return {
      kind: 'ready',
      lease: { api, loadingMs, ended, gone, isOwn: true, knownNodes, release, discard },
    };
  };
};

const whyRefused = (why: StartFailure): string => {
  switch (why.kind) {
    case 'timeout':
      return `ComfyUI did not answer within ${why.ms / 1_000} seconds of its start. ${SEE_LOG}`;
    case 'not_ready':
      return `ComfyUI cannot be used: ${why.why} ${SEE_LOG}`;
    case 'stopped':
      return 'The executor stops.';
    case 'ended':
      return `ComfyUI ended before it answered${describeEnd(why.end)}. ${SEE_LOG}`;
  }
};

const SEE_LOG = 'What it wrote last is in the log of the run.';
