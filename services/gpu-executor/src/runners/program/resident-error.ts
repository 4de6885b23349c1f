import { errorOf, type AttemptError } from '@runledger/contracts/events/run-error';
import type { StartFailure } from '../../residents/start-process.ts';
import type { ProcessEnd } from '../../supervision/supervised-process.ts';
import {
  outOfMemoryIn,
  saysOutOfMemory,
  noSpaceIn,
  programError,
  type FailedProgram,
  lastStderrLines,
} from '../output/program-error.decide.ts';
import type { RunResult } from '../runner.ts';

/** The result of a run whose program could not be made ready. */
export const notReady = (why: StartFailure, program: FailedProgram): RunResult => {
  const failed = (error: AttemptError): RunResult => ({ outcome: 'failed', error, files: [] });
  const { name } = program;
  switch (why.kind) {
    case 'stopped':
      return { outcome: 'cancelled', forced: false, files: [] };
    case 'timeout':
      return failed(setupFailed(`The program ${name} was not ready within ${why.ms / 1_000} s.`, program));
    case 'not_ready':
      return failed(setupFailed(why.why, program));
    case 'ended':
      return why.end.kind === 'not_started'
        ? { outcome: 'not_runnable', why: `The program ${name} cannot be started: ${why.end.code}.` }
        : failed(endedBeforeReady(why.end, program));
  }
};

const setupFailed = (message: string, program: FailedProgram): AttemptError =>
  errorOf('setup_failed', withStderr(message, program));

const withStderr = (message: string, { stderr }: FailedProgram): string => {
  const shown = lastStderrLines(stderr);
  return shown === '' ? message : `${message}\n${shown}`;
};

const endedBeforeReady = (
  end: Exclude<ProcessEnd, { kind: 'not_started' }>,
  program: FailedProgram,
): AttemptError => {
  const error = programError({ ...program, end });
  if (error === null) return setupFailed(`The program ${program.name} ended before it was ready.`, program);
  return error.kind === 'out_of_memory'
    ? error
    : { ...error, kind: 'setup_failed', message: `While it was started: ${error.message}` };
};

/** The error of a run whose program ended before it said how the run ended. */
export const crashed = (end: ProcessEnd, program: FailedProgram): AttemptError => {
  const error = end.kind === 'not_started' ? null : programError({ ...program, end });
  if (error !== null) return error;
  const message = `The program ${program.name} ended before it said that the run is done.`;
  return errorOf('crashed', withStderr(message, program));
};

/** The error of a run that the program itself says has failed. */
export const failedRun = (
  said: { readonly message: string; readonly retryable: boolean | null },
  { name, isMemoryShort, temporaryBytes, stderr }: FailedProgram,
): AttemptError => {
  const noSpace = noSpaceIn(said.message, temporaryBytes);
  const message = noSpace === null ? said.message : `${said.message}\n${noSpace}`;
  const isMemory = saysOutOfMemory(message) || outOfMemoryIn(stderr, isMemoryShort) !== null;
  return errorOf(
    isMemory ? 'out_of_memory' : 'execution_error',
    message.trim() === '' ? `The program ${name} says that the run has failed, and not why.` : message,
    said.retryable === null ? {} : { retryable: said.retryable },
  );
};
