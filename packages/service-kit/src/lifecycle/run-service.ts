import { within } from '@runledger/resilience/within';
import { ConfigError } from '../config/config.ts';
import { createLogger, standardOutput } from '../observability/logger.ts';
import type { Logger } from '../observability/logger.ts';
import { OpenedResources } from './opened-resources.ts';
import { listenForStop } from './stop-requests.ts';
import type { StopRequests } from './stop-requests.ts';
import type { StopReason } from '../health/stop-reason.ts';

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
  const why = error instanceof Error ? error.message : String(error);
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
