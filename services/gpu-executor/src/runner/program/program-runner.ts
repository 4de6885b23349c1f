import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { whyNotExecutable, type AllowList, type Program } from './allow-list.ts';
import type { Containment } from '../../supervision/containment.ts';
import { cancelWithGrace } from '../../supervision/cancel-with-grace.ts';
import { readProgram, type ProgramOutput } from './read-program.ts';
import { collectFiles, type CollectedFiles } from '../output-files.ts';
import type { Mark } from '../../supervision/process-mark.ts';
import { attemptMarks, programEnvironment, type HostEnvironment } from './program-environment.ts';
import { killStrays } from '../../supervision/stray-processes.ts';
import {
  startSupervised,
  type ProcessEnd,
  type SupervisedProcess,
} from '../../supervision/supervised-process.ts';
import type { Runner, RunObserver, RunResult, RunnerWork } from '../runner.ts';

export interface ProgramRunnerSettings {
  readonly programs: AllowList;
  readonly containment: Containment;
  readonly mark: Mark;
  /** Holds the temporary folders of the programs. */
  readonly workFolder: string;
  readonly cancelGraceMs: number;
  readonly host: HostEnvironment;
  readonly log: RunnerLog;
}

interface RunnerLog {
  debug(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

/** Runs a program of the allow-list, one supervised process for each run; the contract is in the README. */
export const programRunner = (settings: ProgramRunnerSettings): Runner => ({
  run: async (work, observe, signal) => {
    const program = settings.programs.get(work.program);
    if (program === undefined) {
      const known = [...settings.programs.keys()].join(', ') || 'none';
      return notRunnable(`EXECUTOR_PROGRAMS names no program "${work.program}" (it names: ${known})`);
    }
    const refusal = await whyNotExecutable(program.command);
    if (refusal !== null) return notStarted(work, program, refusal);
    if (signal.aborted) return { outcome: 'cancelled', forced: false, files: [] };

    const temporary = await mkdtemp(join(settings.workFolder, 'tmp-'));
    try {
      return await execute(settings, program, temporary, work, observe, signal);
    } finally {
      await rm(temporary, { recursive: true, force: true }).catch((err: unknown) =>
        settings.log.warn({ err, folder: temporary }, 'a temporary folder could not be removed'),
      );
    }
  },
});

const execute = async (
  settings: ProgramRunnerSettings,
  program: Program,
  temporary: string,
  work: RunnerWork,
  observe: RunObserver,
  signal: AbortSignal,
): Promise<RunResult> => {
  const { containment, mark, host, log, cancelGraceMs } = settings;
  const started = tryStart({
    containment,
    start: {
      command: program.command,
      args: program.args,
      env: programEnvironment(work, program, host, mark, temporary),
    },
    env: { PATH: host.PATH ?? '', ...attemptMarks(work, mark) },
    folder: temporary,
  });
  if (typeof started === 'string') return notStarted(work, program, started);

  const heard = readProgram(started, (report) => observe.progress(report), log, work);
  const { run_id, workflow, inputs, gpu, attempt } = work;
  started.stdin.end(JSON.stringify({ run_id, workflow, inputs, gpu, attempt }));
  using cancel = cancelWithGrace(started, signal, cancelGraceMs);

  const end = await started.ended;
  await sweep(settings, work);
  await heard.drained();
  if (end.kind === 'not_started') return notStarted(work, program, end.code);

  const collected = await collectFiles(work.outputDir);
  for (const skipped of collected.skipped)
    log.warn({ run_id, ...skipped }, 'an entry of the output folder is no output');
  if (signal.aborted) return { outcome: 'cancelled', forced: cancel.forced, files: collected.files };
  return resultOf(work, end, heard, collected);
};

const tryStart = (settings: Parameters<typeof startSupervised>[0]): SupervisedProcess | string => {
  try {
    return startSupervised(settings);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
};

/** A PID namespace leaves nothing behind; a process group may have been left by setsid or a double fork. */
const sweep = async ({ containment, mark, log }: ProgramRunnerSettings, work: RunnerWork): Promise<void> => {
  if (containment.kind === 'namespace') return;
  const { killed, survivors } = await killStrays(mark, work.run_id, work.attempt);
  const { run_id } = work;
  if (killed.length > 0)
    log.warn({ run_id, killed }, 'the program left processes outside its group; they are killed');
  if (survivors.length > 0)
    log.warn({ run_id, survivors }, 'processes of the run do not die; the device may be busy');
};

const resultOf = (
  work: RunnerWork,
  end: Exclude<ProcessEnd, { kind: 'not_started' }>,
  heard: ProgramOutput,
  { files, tooMany }: CollectedFiles,
): RunResult => {
  const program = `The program ${work.program}`;
  const failed = (why: string, exit: (RunResult & { outcome: 'failed' })['exit']): RunResult => {
    const lastWords = heard.lastWords();
    return { outcome: 'failed', message: lastWords === '' ? why : `${why}\n${lastWords}`, exit, files };
  };
  if (end.kind === 'unreported') return failed(`${program} was lost: ${end.why}.`, { kind: 'unknown' });
  if (end.signal !== null) {
    const hint = end.signal === 'SIGKILL' ? ', perhaps because the machine ran out of memory' : '';
    return failed(`${program} was ended by ${end.signal}${hint}.`, { kind: 'signal', signal: end.signal });
  }
  const code = end.code ?? 0;
  if (code !== 0) return failed(`${program} ended with exit code ${code}.`, { kind: 'code', code });

  const lost = tooMany ? 'it left more files than a run may have' : heard.lost();
  if (lost === null) return { outcome: 'succeeded', data: heard.data(), files };
  return failed(
    `${program} succeeded, but ${lost}; leave large results as few files in $RUNLEDGER_OUTPUT_DIR.`,
    {
      kind: 'code',
      code,
    },
  );
};

const notRunnable = (why: string): RunResult => ({ outcome: 'not_runnable', why });

const notStarted = (work: RunnerWork, program: Program, why: string): RunResult =>
  notRunnable(`the program ${work.program} (${program.command}) cannot be started: ${why}`);
