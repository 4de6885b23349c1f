import { errorOf } from '@runledger/contracts/events/run-error';
import type { RequestedRun, Step, TestCapabilities } from './test-bed.ts';

/** Steps of a history. A test reads `given(executor('box'), queued('one')).when(left('box'))`. */

export const executor =
  (name: string, capabilities?: TestCapabilities): Step =>
  (bed) => {
    bed.register(name, capabilities);
    bed.heartbeat(name);
  };
export const queued =
  (run: string, request?: RequestedRun): Step =>
  (bed) =>
    bed.queue(run, request);
export const stored: Step = (bed) => bed.settleAll();
export const started =
  (run: string): Step =>
  (bed) =>
    bed.start(run);
export const uploading =
  (run: string, bytes: number): Step =>
  (bed) =>
    bed.upload(run, bytes);
export const succeeded =
  (run: string): Step =>
  (bed) =>
    bed.succeed(run);
/** At a limit of its time, by its executor. */
export const timedOut =
  (run: string, kind: 'run_timeout' | 'start_deadline' = 'run_timeout'): Step =>
  (bed) =>
    bed.append(run, 'RunFailed', {
      error: errorOf(kind, 'it took too long'),
      outputs: [],
      outputs_blob: null,
      progress: 0,
    });
export const attemptFailed =
  (run: string, retryAfterS: number): Step =>
  (bed) =>
    bed.failAttempt(run, retryAfterS);
export const cancelRequested =
  (run: string): Step =>
  (bed) =>
    bed.requestCancel(run);
export const expired =
  (run: string): Step =>
  (bed) =>
    bed.expire(run);
export const left =
  (name: string): Step =>
  (bed) =>
    bed.leave(name);
export const heartbeatOf =
  (name: string): Step =>
  (bed) =>
    bed.heartbeat(name);
/** Its slots have these versions loaded. */
export const loaded =
  (name: string, ...versions: (number | null)[]): Step =>
  (bed) =>
    bed.heartbeat(name, bed.listed(name), versions);
/** It has prepared these versions. */
export const prepared =
  (name: string, ...versions: number[]): Step =>
  (bed) => {
    bed.prepared.set(name, versions);
    bed.heartbeat(name, bed.listed(name));
  };
export const noHeartbeats =
  (ms: number): Step =>
  (bed) =>
    bed.pass(ms);
export const passed =
  (ms: number, ...alive: string[]): Step =>
  (bed) =>
    bed.pass(ms, { alive });
export const running = (run: string, on: string, request?: RequestedRun): Step[] => [
  executor(on),
  queued(run, request),
  stored,
  started(run),
];

export const drained =
  (name: string): Step =>
  (bed) =>
    bed.requestDrain(name);
export const resumed =
  (name: string): Step =>
  (bed) =>
    bed.requestResume(name);

/** The log has these bytes of a limit; -1 for no limit. */
export const logSize =
  (bytes: number, maxBytes: number): Step =>
  (bed) => {
    bed.take({ type: 'log_size', bytes, maxBytes });
  };
