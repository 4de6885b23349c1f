import type { StateOfVersion } from '@runledger/contracts/requests/ready-slots';
import { errorMessage, errorOf } from '@runledger/contracts/events/run-error';
import { sleep } from '@runledger/resilience/abort';
import { namedCache } from '../../supervision/process-environment.ts';
import type { GpuSlot } from '../../gpu-slots.ts';
import { stateOfKept } from '../../residents/resident-process.ts';
import type { ResidentProcesses, RunOfSlot, SlotProcesses } from '../../residents/resident-processes.ts';
import type { Lease, ResidentConnection, ResidentSpec, StartFailure } from '../../residents/start-process.ts';
import { programView } from '../../view/program-view.ts';
import type { OperatorCommand } from '../operator-command.ts';
import { hidingValues } from '../output/program-error.decide.ts';
import {
  describeEnd,
  type AcquiredServer,
  type ModelServer,
  type ServerLease,
  type ServerType,
  type Waiting,
  untilReady,
} from './model-server.ts';
import type { SupervisedProcess } from '../../supervision/supervised-process.ts';
import { cutLines } from '../output/cut-lines.ts';
import { readStreams, type StreamReader } from '../output/read-streams.ts';
import type { LogLine } from '../runner.ts';

export interface OwnServer<Api> {
  readonly type: ServerType<Api>;
  readonly url: URL;
  readonly command: OperatorCommand;
  readonly slot: GpuSlot;
  readonly startTimeoutMs: number;
  /** Of a server that is started for a version; left out for one of the operator's settings. */
  readonly version?: {
    /** Its own among all that the executor keeps: processes with it have one cache. */
    readonly name: string;
    readonly view: ResidentSpec<ResidentConnection>['view'];
    readonly limits: ResidentSpec<ResidentConnection>['limits'];
    /** For each of its processes: what must stay as it is until the process has ended. */
    readonly hold: () => Disposable;
  };
}

/** A server that can be started before its runs come. */
export interface KeptServer<Api> extends ModelServer<Api> {
  /** Starts it, and keeps it until then (`performance.now()`) unless another run needs the slot. */
  keep(run: RunOfSlot, untilMs: number): StateOfVersion;
}

/** A server that the executor starts for a slot, keeps between runs, and starts again. */
export const openOwnServer = <Api>(server: OwnServer<Api>, residents: ResidentProcesses): KeptServer<Api> => {
  const processes = residents.open(serverProcess(server), [server.slot]);
  return {
    url: server.url,
    acquire: (waiting, signal) => acquire(server, processes, waiting, signal),
    keep: (run, untilMs) =>
      stateOfKept(processes.keep(run, untilMs), (why, connection) =>
        why.kind === 'stopped'
          ? 'The executor stops.'
          : [whyRefused(server.type.name, why), ...lastWritten(connection)].join('\n'),
      ),
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
  version,
}: OwnServer<Api>): ResidentSpec<ServerConnection<Api>> => ({
  name: version?.name ?? `server of ${type.title}`,
  ...command,
  env: reachingLoopback(command.env),
  view: (slot, withheld) =>
    version?.view(slot, withheld) ?? {
      ...programView({ ...command, network: 'host' }, slot, withheld),
      scratch: type.scratch,
    },
  shared: command.shared ?? false,
  limits: version?.limits ?? { startTimeoutMs, idleTimeoutMs: null, maxRuns: null, preload: type.preload },
  connect: (process, gone, sandbox) => {
    const held = version?.hold();
    gone.addEventListener('abort', () => held?.[Symbol.dispose](), { once: true });
    process.stdin.end();
    const api = type.connect(url, sandbox.folder);
    const hide = hidingValues(command, { TMPDIR: sandbox.folder, ...namedCache(sandbox) });
    const isReady = async (): Promise<string | null> => {
      const state = await untilReady(type, api, gone);
      // When it ends first, its end says why, and nobody waits for this any more.
      if (state === undefined) return new Promise(() => undefined);
      return state.kind === 'ready' ? null : hide(state.why);
    };
    const output = readServerOutput(process, gone, (line) => {
      type.hear?.(api, line);
      const shown = type.logLine(line);
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

/** Nobody has the log of a start without a run. */
const lastWritten = (connection: ServerOutput | null): string[] =>
  (connection?.lastLines() ?? []).slice(-SHOWN_LINES).map(({ line }) => line);
const SHOWN_LINES = 10;

const SEE_LOG = 'What it wrote last is in the log of the run.';

/** What a server that the executor started writes. */
interface ServerOutput {
  /** From now on its lines go there, as they are written. Call what it returns to stop that. */
  listen(onLine: (line: LogLine) => void): () => void;
  /** The end of a run comes by another way than its last lines, and may overtake them. Resolves when no more come, or after a second. */
  untilQuiet(): Promise<void>;
  /** What it wrote last, for a run that cannot have it. */
  lastLines(): readonly LogLine[];
}

const MAX_LINE_BYTES = 64 * 1024;
const LAST_LINES = 40;
const QUIET_MS = 100;
const QUIET_WITHIN_MS = 1_000;

/** Reads the output of a server until it is `gone`. `logLine` is called once for each line, and has null for one that nobody is shown. */
const readServerOutput = (
  { stdout, stderr }: SupervisedProcess,
  gone: AbortSignal,
  logLine: (line: string) => string | null,
): ServerOutput => {
  const last: LogLine[] = [];
  let listener: ((line: LogLine) => void) | undefined;
  let lineAt = 0;
  const take = ({ stream, line: written }: LogLine): void => {
    lineAt = performance.now();
    const line = logLine(written);
    if (line !== null) last.push({ stream, line });
    if (last.length > LAST_LINES) last.shift();
    listener?.({ stream, line: written });
  };
  const streams = readStreams(
    { stdout, stderr },
    {
      stdout: lineReader((line) => take({ stream: 'stdout', line })),
      stderr: lineReader((line) => take({ stream: 'stderr', line })),
    },
  );
  gone.addEventListener('abort', () => void streams.drained(), { once: true });
  return {
    lastLines: () => last,
    untilQuiet: async () => {
      const deadline = performance.now() + QUIET_WITHIN_MS;
      do await sleep(QUIET_MS);
      while (performance.now() - lineAt < QUIET_MS && performance.now() < deadline);
    },
    listen: (onLine) => {
      listener = onLine;
      return () => {
        listener = undefined;
      };
    },
  };
};

const lineReader = (onLine: (line: string) => void): StreamReader => {
  const lines = cutLines(MAX_LINE_BYTES);
  return {
    chunk: (chunk) => lines.push(chunk).forEach(({ text }) => onLine(text)),
    end: () => lines.end().forEach(({ text }) => onLine(text)),
  };
};
