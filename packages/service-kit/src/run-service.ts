import { setFlagsFromString } from 'node:v8';
import { within } from '@runledger/resilience/within';
import { messageOf } from '@runledger/resilience/errors';
import { ConfigError } from './config.ts';
import { createLogger, standardOutput, type Logger } from './logger.ts';
import { listenForStop, type StopRequests, type StopReason } from './stop-requests.ts';

export interface Service {
  readonly name: string;
  /** The time limit of the whole stop, from the first signal, in milliseconds. */
  readonly stopWithinMs: number;
  /**
   * Opens all resources into `open`: order = start, reverse = stop. It resolves when the service runs. All waiting in it must end
   * with `stopping`, because closing begins after `start` has settled.
   */
  readonly start: (open: AsyncDisposableStack, stopping: AbortSignal) => Promise<void> | void;
}

/** EX_CONFIG of sysexits.h: another start with the same environment would fail again. */
const EXIT_CONFIG = 78;
const KEEP_ALIVE_MS = 60_000;

/**
 * Runs a service from start to exit. Only `main.ts` calls it, once. It ends the process with 0 after a clean stop (SIGTERM,
 * SIGINT, or the end of the parent process), 78 for a ConfigError, and 1 for a failed start, an unhandled error, a resource that
 * fails to close, or a stop that takes too long.
 */
export const runService = async ({ name, stopWithinMs, start }: Service): Promise<never> => {
  neverPretenure();
  const logger = createLogger({ service: name, level: 'info', destination: standardOutput() });
  const requests = listenForStop(logger);
  // A service runs until it is stopped, even if it has no open socket or timer.
  const keepAlive = setInterval(() => {}, KEEP_ALIVE_MS);
  const open = new OpenedResources();
  const started = startInto(open, start, requests, logger);
  const reason = await requests.first;
  if (reason.kind === 'start_failed') explain(name, reason.error, logger);
  const closed = await closeWithin(stopWithinMs, started, open, logger);
  clearInterval(keepAlive);
  process.exit(closed && !requests.hadFatalError() ? exitCodeAfter(reason) : 1);
};

/**
 * V8 allocates objects in old space at once ("pretenuring") where earlier ones lived long, as those of a first wave of requests do. Such an object is
 * dead with its request, and still keeps all that it refers to from the collections of young garbage. In a heap of 50 MB whatever a request makes
 * lived until the next full collection, which took a quarter of the processor time of a gateway under load (ADR 158).
 */
const neverPretenure = (): void => setFlagsFromString('--no-allocation-site-pretenuring');

/** Sends the parent process, if it opened an IPC channel, the addresses of this service. */
export const announce = (record: Readonly<Record<string, unknown>>): void => {
  if (!process.connected) return;
  // The callback swallows the error of a closing channel. Then `disconnect` stops the service.
  process.send?.({ ...record, type: 'listening' }, undefined, undefined, () => {});
};

const startInto = async (
  open: OpenedResources,
  start: Service['start'],
  { stopping, stop }: StopRequests,
  logger: Logger,
): Promise<void> => {
  try {
    await start(open, stopping);
    if (!stopping.aborted) logger.info('started');
  } catch (error) {
    if (stopping.aborted) logger.info({ err: error }, 'the start was aborted');
    else stop({ kind: 'start_failed', error });
  }
};

const closeWithin = async (
  ms: number,
  started: Promise<void>,
  open: OpenedResources,
  logger: Logger,
): Promise<boolean> => {
  let starting = true;
  const close = async (): Promise<boolean> => {
    await started;
    starting = false;
    try {
      await open.disposeAsync();
      logger.info('stopped');
      return true;
    } catch (err) {
      logger.error({ err }, 'a resource failed to close');
      return false;
    }
  };
  return within(ms, close(), () => {
    const waitedFor = starting
      ? 'the start, which does not end on `stopping`'
      : (open.closing ?? 'the last resource');
    logger.error({ waited_for: waitedFor }, `the stop took more than ${ms} ms; waited for: ${waitedFor}`);
    return false;
  });
};

/** A wrong configuration is printed for a person at a terminal. All other errors go to the log. */
const explain = (name: string, error: unknown, logger: Logger): void => {
  if (error instanceof ConfigError) {
    process.stderr.write(`${name} cannot start: ${error.message}\n`);
    return;
  }
  const why = messageOf(error);
  logger.error({ err: error }, `${name} could not start: ${why}`);
};

const exitCodeAfter = (reason: StopReason): number => {
  switch (reason.kind) {
    case 'signal':
    case 'parent_ended':
      return 0;
    case 'start_failed':
      return reason.error instanceof ConfigError ? EXIT_CONFIG : 1;
    case 'fatal':
      return 1;
  }
};

/**
 * An AsyncDisposableStack that shows what it is closing, so that the log can name the resource on which a stop hangs.
 * The name is the resource's `name`, else its class, with the line of code that opened it.
 */
class OpenedResources extends AsyncDisposableStack {
  #opened = 0;
  #closing: string | undefined;

  /** The resource that is being closed now. */
  get closing(): string | undefined {
    return this.#closing;
  }

  override use<T extends AsyncDisposable | Disposable | null | undefined>(value: T): T {
    if (value === null || value === undefined) return value;
    const name = this.#nameOf(value);
    const inner = new AsyncDisposableStack();
    inner.use(value);
    super.defer(() => this.#close(name, () => inner.disposeAsync()));
    return value;
  }

  override adopt<T>(value: T, onDispose: (value: T) => PromiseLike<void> | void): T {
    const name = this.#nameOf(value);
    super.defer(() => this.#close(name, () => onDispose(value)));
    return value;
  }

  override defer(onDispose: () => PromiseLike<void> | void): void {
    const name = this.#nameOf(onDispose);
    super.defer(() => this.#close(name, onDispose));
  }

  async #close(name: string, dispose: () => PromiseLike<void> | void): Promise<void> {
    this.#closing = name;
    try {
      await dispose();
    } catch (cause) {
      throw new Error(`failed to close: ${name}`, { cause });
    }
    this.#closing = undefined;
  }

  #nameOf(value: unknown): string {
    this.#opened += 1;
    const own = ownName(value) ?? 'resource';
    const line = callSite();
    return `${own} (opened as number ${this.#opened}${line === undefined ? '' : `, ${line}`})`;
  }
}

const ownName = (value: unknown): string | undefined => {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return undefined;
  if ('name' in value && typeof value.name === 'string' && value.name !== '') return value.name;
  const className = value.constructor?.name;
  return className === '' || className === 'Object' || className === 'Function' ? undefined : className;
};

/** The stack above this function: #nameOf; use, adopt or defer; the caller that opened the resource. */
const callSite = (): string | undefined => new Error('only for its stack').stack?.split('\n')[4]?.trim();
