import { errorMessage } from '@runledger/contracts/events/error-message';
import { errorOf } from '@runledger/contracts/events/run-error';
import { namedCache } from '../../supervision/process-environment.ts';
import type { GpuSlot } from '../../gpu-slots.ts';
import type { ResidentProcesses, SlotProcesses } from '../../residents/resident-processes.ts';
import type { Lease, ResidentConnection, ResidentSpec, StartFailure } from '../../residents/start-process.ts';
import { programView } from '../../view/program-view.ts';
import type { OperatorCommand } from '../../runners/operator-command.ts';
import { hidingValues } from '../../runners/output/program-error.ts';
import { describeEnd } from './describe-end.ts';
import type { AcquiredServer, ModelServer, ServerLease, ServerType, Waiting } from './model-server.ts';
import { readServerOutput, type ServerOutput } from './server-output.ts';
import { untilReady } from './until-ready.ts';

export interface OwnServer<Api> {
  readonly type: ServerType<Api>;
  readonly url: URL;
  readonly command: OperatorCommand;
  readonly slot: GpuSlot;
  readonly startTimeoutMs: number;
}

/** A server that the executor starts for a slot, keeps between runs, and starts again. */
export const openOwnServer = <Api>(
  server: OwnServer<Api>,
  residents: Pick<ResidentProcesses, 'open'>,
): ModelServer<Api> => {
  const processes = residents.open(serverProcess(server), [server.slot]);
  return {
    url: server.url,
    acquire: (waiting, signal) => acquire(server, processes, waiting, signal),
  };
};

interface ServerConnection<Api> extends ResidentConnection, ServerOutput {
  readonly api: Api;
  /** Aborted when the process has ended. */
  readonly gone: AbortSignal;
  readonly hide: ServerLease<Api>['hide'];
}

const serverProcess = <Api>({
  type,
  url,
  command,
  startTimeoutMs,
}: OwnServer<Api>): ResidentSpec<ServerConnection<Api>> => ({
  name: `server of ${type.title}`,
  ...command,
  env: reachingLoopback(command.env),
  view: (slot, withheld) => ({
    ...programView({ ...command, network: 'host' }, slot, withheld),
    scratch: type.scratch,
  }),
  shared: command.shared ?? false,
  limits: { startTimeoutMs, idleTimeoutMs: null, maxRuns: null, preload: type.preload },
  connect: (process, gone, place) => {
    process.stdin.end();
    const api = type.connect(url, place.folder);
    const hide = hidingValues(command, { TMPDIR: place.folder, ...namedCache(place) });
    const isReady = async (): Promise<string | null> => {
      const state = await untilReady(type, api, gone);
      // When it ends first, its end says why, and nobody waits for this any more.
      if (state === undefined) return new Promise(() => undefined);
      return state.kind === 'ready' ? null : hide(state.why);
    };
    const output = readServerOutput(process, gone, (line) => {
      type.hear?.(api, line);
      const shown = type.shownLine(line);
      return shown === null ? null : hide(shown);
    });
    return { ...output, ready: isReady(), api, gone, hide };
  },
  askToEnd: (process) => process.terminate(),
});

/** Where its operator sets a proxy, the server reaches what the executor serves without it. */
const reachingLoopback = (env: OperatorCommand['env']): OperatorCommand['env'] => {
  const names = Object.keys(env);
  if (!names.some((name) => /^(?:https?|all)_proxy$/i.test(name))) return env;
  const { NO_PROXY = '', no_proxy = NO_PROXY } = env;
  const direct = [no_proxy, '127.0.0.1'].filter((each) => each !== '').join(',');
  return { ...env, NO_PROXY: direct, no_proxy: direct };
};

const acquire = async <Api>(
  { type }: OwnServer<Api>,
  processes: SlotProcesses<ServerConnection<Api>>,
  { run, onLoading, onLine }: Waiting,
  signal: AbortSignal,
): Promise<AcquiredServer<Api>> => {
  let isLoading = false;
  const acquired = await processes.acquire(run, signal, () => {
    isLoading = true;
    onLoading();
  });
  if (acquired.kind === 'cancelled') return acquired;
  const connection = acquired.kind === 'ready' ? acquired.lease.connection : acquired.connection;
  if (isLoading) connection?.lastLines().forEach(onLine);
  if (acquired.kind === 'ready') return { kind: 'ready', lease: leaseOf(type, acquired.lease, onLine) };
  if (acquired.why.kind === 'stopped') return { kind: 'cancelled' };
  return {
    kind: 'refused',
    error: errorOf('setup_failed', errorMessage(whyRefused(type.name, acquired.why))),
  };
};

const leaseOf = <Api>(
  { runLine }: ServerType<Api>,
  { connection, loadingMs, isMixed, ended, ...held }: Lease<ServerConnection<Api>>,
  onLine: Waiting['onLine'],
): ServerLease<Api> => {
  const { api, gone, hide } = connection;
  // Nothing says of which run a line is, and a process may write it late: never to the log of another organisation.
  const stopListening = isMixed
    ? undefined
    : connection.listen(({ stream, line: written }) => {
        const line = runLine(written);
        if (line !== null) onLine({ stream, line: hide(line) });
      });
  return {
    api,
    loadingMs,
    ended,
    gone,
    isOwn: true,
    hide,
    release: async () => {
      if (stopListening) await connection.untilQuiet();
      stopListening?.();
      held.release();
    },
    discard: async () => {
      await held.discard();
      stopListening?.();
    },
  };
};

const whyRefused = (name: string, why: Exclude<StartFailure, { readonly kind: 'stopped' }>): string => {
  switch (why.kind) {
    case 'timeout':
      return `${name} was not ready within ${why.ms / 1_000} s of its start. ${SEE_LOG}`;
    case 'not_ready':
      return `${why.why} ${SEE_LOG}`;
    case 'ended':
      return `${name} ended before it was ready${describeEnd(why.end)}. ${SEE_LOG}`;
  }
};

const SEE_LOG = 'What it wrote last is in the log of the run.';
