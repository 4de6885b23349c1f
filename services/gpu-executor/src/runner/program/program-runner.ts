import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { whyNotExecutable, type AllowList, type Program } from './allow-list.ts';
import { cancelWithGrace } from '../../supervision/cancel-with-grace.ts';
import { readProgram, type ProgramOutput } from './read-program.ts';
import { FILE_LIMITS, collectFiles, type CollectedFiles } from '../output-files.ts';
import { attemptMarks, programEnvironment } from './program-environment.ts';
import { killStrays } from '../../supervision/stray-processes.ts';
import {
  startSupervised,
  type ProcessEnd,
  type SupervisedProcess,
} from '../../supervision/supervised-process.ts';
import type { RunnerHost } from '../runner-type.ts';
import type { Runner, RunExit, RunObserver, RunResult, RunnerWork } from '../runner.ts';

export interface ProgramRunnerSettings extends RunnerHost {
  readonly programs: AllowList;
}

/** Runs a program of the allow-list, one supervised process for each run. The README has the contract for programs. */
export const programRunner = (settings: ProgramRunnerSettings): Runner => ({
  run: async (work, observe, signal) => {
    const name = work.choice.kind === 'program' ? work.choice.program : '';
    const program = settings.programs.get(name);
    if (program === undefined) {
      const known = [...settings.programs.keys()].join(', ') || 'none';
      return notRunnable(`EXECUTOR_PROGRAMS names no program "${name}" (it names: ${known})`);
    }
    const refusal = await whyNotExecutable(program.command);
    if (refusal !== null) return notStarted({ name, program }, refusal);
    if (signal.aborted) return { outcome: 'cancelled', forced: false, files: [] };

    const temporary = await mkdtemp(join(settings.workFolder, 'tmp-'));
    try {
      return await execute(settings, { work, name, program, temporary }, observe, signal);
    } finally {
      await rm(temporary, { recursive: true, force: true }).catch((err: unknown) =>
        settings.log.warn({ err, folder: temporary }, 'a temporary folder could not be removed'),
      );
    }
  },
});

interface NamedProgram {
  readonly name: string;
  readonly program: Program;
}

interface ProgramRun extends NamedProgram {
  readonly work: RunnerWork;
  /** The folder for temporary files of this run alone. */
  readonly temporary: string;
}

const execute = async (
  settings: ProgramRunnerSettings,
  run: ProgramRun,
  observe: RunObserver,
  signal: AbortSignal,
): Promise<RunResult> => {
  const { log, cancelGraceMs } = settings;
  const { work } = run;
  const started = tryStart(settings, run);
  if (typeof started === 'string') return notStarted(run, started);

  const output = readProgram(started, (report) => observe.progress(report), log, work);
  const { run_id, workflow, inputs, gpu, attempt } = work;
  started.stdin.end(JSON.stringify({ run_id, workflow, inputs, gpu, attempt }));
  using cancel = cancelWithGrace(started, signal, cancelGraceMs);

  const end = await started.ended;
  await killLeftProcesses(settings, work);
  await output.drained();
  if (end.kind === 'not_started') return notStarted(run, end.code);

  const collected = await collectFiles(work.outputDir, FILE_LIMITS);
  for (const skipped of collected.skipped) {
    log.warn({ run_id, ...skipped }, 'an entry of the output folder is not an output');
  }
  if (signal.aborted) return { outcome: 'cancelled', forced: cancel.forced, files: collected.files };
  return resultOf(run.name, end, output, collected);
};

const tryStart = (
  { containment, mark, env }: ProgramRunnerSettings,
  { work, program, temporary }: ProgramRun,
): SupervisedProcess | string => {
  const { command, args } = program;
  try {
    return startSupervised({
      containment,
      start: { command, args, env: programEnvironment({ work, program, host: env, mark, temporary }) },
      env: { PATH: env.PATH ?? '', ...attemptMarks(work, mark) },
      folder: temporary,
    });
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
};

/** A PID namespace leaves no process behind; a process may leave its group by setsid or a double fork. */
const killLeftProcesses = async (
  { containment, mark, log }: ProgramRunnerSettings,
  { run_id, attempt }: RunnerWork,
): Promise<void> => {
  if (containment.kind === 'namespace') return;
  const { killed, survivors } = await killStrays(mark, run_id, attempt);
  if (killed.length > 0) {
    log.warn({ run_id, killed }, 'the program left processes outside its group; they are killed');
  }
  if (survivors.length > 0) {
    log.warn({ run_id, survivors }, 'processes of the run cannot be killed; the device may be busy');
  }
};

const resultOf = (
  name: string,
  end: Exclude<ProcessEnd, { kind: 'not_started' }>,
  output: ProgramOutput,
  { files, tooMany }: CollectedFiles,
): RunResult => {
  const program = `The program ${name}`;
  const failed = (why: string, exit: RunExit): RunResult => {
    const stderr = output.stderrTail();
    return { outcome: 'failed', message: stderr === '' ? why : `${why}\n${stderr}`, exit, files };
  };
  if (end.kind === 'unreported') return failed(`${program} was lost: ${end.why}.`, { kind: 'unknown' });
  if (end.signal !== null) {
    const hint = end.signal === 'SIGKILL' ? ', perhaps because the machine ran out of memory' : '';
    return failed(`${program} was ended by ${end.signal}${hint}.`, { kind: 'signal', signal: end.signal });
  }
  const code = end.code ?? 0;
  if (code !== 0) return failed(`${program} ended with exit code ${code}.`, { kind: 'code', code });

  const lost = tooMany ? 'it left more files than a run may have' : output.lost();
  if (lost === null) return { outcome: 'succeeded', data: output.data(), files };
  const advice = 'leave large results as few files in $RUNLEDGER_OUTPUT_DIR';
  return failed(`${program} succeeded, but ${lost}; ${advice}.`, { kind: 'code', code });
};

const notRunnable = (why: string): RunResult => ({ outcome: 'not_runnable', why });

const notStarted = ({ name, program }: NamedProgram, why: string): RunResult =>
  notRunnable(`the program ${name} (${program.command}) cannot be started: ${why}`);
