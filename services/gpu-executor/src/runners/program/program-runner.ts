import { MAX_OUTPUTS_BYTES } from '@runledger/contracts/limits';
import {
  hasLastingHome,
  namedCache,
  processEnvironment,
  type HostEnvironment,
} from '../../supervision/process-environment.ts';
import { removeTree } from '../../folders/remove-tree.ts';
import { whyNotExecutable, type OperatorCommand } from '../operator-command.ts';
import type { AllowList } from './allow-list.ts';
import { countOomKills, recentOomKills } from '../output/oom-kills.ts';
import { programError, hidingValues } from '../output/program-error.decide.ts';
import { cancelWithGrace, logStrays, type SupervisedProcess } from '../../supervision/supervised-process.ts';
import { collectOutputs, outputResult } from '../output/output-result.ts';
import { programCode, type LookAtCode } from '../../view/program-code.ts';
import { programView } from '../../view/program-view.ts';
import type { GpuSlot } from '../../gpu-slots.ts';
import { visibleHost, type View, type Withheld } from '../../isolation/isolation.ts';
import type { Sandbox } from '../../supervision/supervisors.ts';
import type { ProcessHost } from '../runner-type.ts';
import type { Runner, RunObserver, RunResult, RunnerWork, RunData } from '../runner.ts';
import { collectMessages, meansOutput, readMessage, type LostOutput } from '../output/program-messages.ts';
import { readMessages } from '../output/message-lines.ts';
import { readLines, readStreams, STDERR_TAIL_BYTES, stderrTail } from '../output/read-streams.ts';
import type { Mark } from '../../supervision/stray-processes.ts';

export interface ProgramRunnerSettings extends ProcessHost {
  readonly programs: AllowList['once'];
}

/** Runs a program of the allow-list, one process for each run. The README has the contract for programs. */
export const programRunner = (settings: ProgramRunnerSettings): Runner => {
  const { programs, supervisors, log } = settings;
  const codeOf = new Map(
    [...programs].map(([name, program]) => [name, programCode(program, supervisors.withheld, log)]),
  );
  const run: Runner['run'] = async (work, observe, signal) => {
    const name = work.choice.kind === 'program' ? work.choice.program : '';
    const program = programs.get(name);
    if (program === undefined)
      return notRunnable(`EXECUTOR_PROGRAMS of the executor names no program "${name}".`);
    const view: NamedProgram['view'] = (slot, withheld) => programView(program, slot, withheld);
    const named = { name, program, view, code: codeOf.get(name) ?? nobodyKnows };
    return runProgram(settings, named, { work, observe, signal });
  };
  return { run };
};

const nobodyKnows: LookAtCode = () => Promise.resolve(null);

/** A program, wherever it is from. */
export interface NamedProgram {
  /** For clients. */
  readonly name: string;
  readonly program: OperatorCommand;
  /** What its process may see. @throws when it cannot be shown */
  readonly view: (slot: GpuSlot, withheld: Withheld) => View;
  readonly code: LookAtCode;
}

/** One run of a program, in a process of its own. */
export const runProgram = async (
  host: ProcessHost,
  named: NamedProgram,
  { work, observe, signal }: ObservedWork,
): Promise<RunResult> => {
  const requested = { ...named, work };
  const refusal = await whyNotExecutable(named.program.command);
  if (refusal !== null) return notStarted(host, requested, refusal);
  const code = await named.code();
  // What the program itself loads belongs to its run.
  if (signal.aborted || !(await observe.begin(0, code)))
    return { outcome: 'cancelled', forced: false, files: [] };

  const sandbox = tryOpenSandbox(host, requested);
  if (sandbox instanceof Error) return notStarted(host, requested, sandbox.message);
  await using left = new AsyncDisposableStack();
  left.defer(() => sandbox.leave());
  const temporary = sandbox.makeTemporary();
  left.defer(() => removeTree(temporary, host.log));
  return await execute(host, { ...requested, sandbox, temporary }, observe, signal);
};

export interface ObservedWork {
  readonly work: RunnerWork;
  readonly observe: RunObserver;
  readonly signal: AbortSignal;
}

interface RequestedProgram extends NamedProgram {
  readonly work: RunnerWork;
}

interface ProgramRun extends RequestedProgram {
  readonly sandbox: Sandbox;
  /** The folder for temporary files of this run alone. */
  readonly temporary: string;
}

const execute = async (
  settings: ProcessHost,
  run: ProgramRun,
  observe: RunObserver,
  signal: AbortSignal,
): Promise<RunResult> => {
  const { log, cancelGraceMs } = settings;
  const { work } = run;
  const oomKills = recentOomKills();
  const lent = await run.sandbox.lend(work);
  const started = tryStart(settings, { ...run, work: { ...work, ...lent.folders } });
  if (started instanceof Error) return notStarted(settings, run, started.message);

  const hide = hidingValues(run.program, {
    RUNLEDGER_INPUT_DIR: lent.folders.inputDir,
    RUNLEDGER_OUTPUT_DIR: lent.folders.outputDir,
    TMPDIR: run.temporary,
    ...namedCache(run.sandbox),
  });
  const output = readProgram(started, {
    ...observe,
    log: ({ stream, line }) => observe.log({ stream, line: hide(line) }),
  });
  const { run_id, workflow, inputs, gpu, attempt } = work;
  started.stdin.end(JSON.stringify({ run_id, workflow, inputs, gpu, attempt }));
  using cancel = cancelWithGrace(started, signal, cancelGraceMs);

  const end = await started.ended;
  logStrays(end, log, { run_id });
  await output.drained();
  if (end.kind === 'not_started') return notStarted(settings, run, end.code);

  const collected = await collectOutputs(lent, work, observe);
  if (signal.aborted) return { outcome: 'cancelled', forced: cancel.forced, files: collected.files };
  const isMemoryShort = countOomKills() > oomKills;
  const shown = (text: string): string => observe.masked(hide(text));
  const stderr = shown(output.stderrTail());
  const { temporaryBytes } = run.sandbox;
  const error = programError({ name: run.name, end, isMemoryShort, temporaryBytes, stderr });
  return error === null
    ? outputResult({ name: run.name, output, hide: shown }, collected)
    : { outcome: 'failed', error, files: collected.files };
};

const tryOpenSandbox = (
  { supervisors, env }: ProcessHost,
  { work: { org_id, deployment_id, slot }, program, view }: RequestedProgram,
): Sandbox | Error => {
  const hasNone = deployment_id === null || hasLastingHome(supervisors.isolation, env, program.env);
  const cache = hasNone ? null : { org_id, of: `deployment ${deployment_id}` };
  try {
    return supervisors.sandboxForRun(org_id, view(slot, supervisors.withheld), cache);
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
};

const tryStart = (
  { supervisors: { isolation }, mark, env }: ProcessHost,
  { work, program, sandbox, temporary }: ProgramRun,
): SupervisedProcess | Error => {
  const { command, args, cwd } = program;
  try {
    return sandbox.start({
      command,
      args,
      env: programEnvironment({
        work,
        program,
        host: visibleHost(isolation, env),
        mark,
        temporary,
        cache: sandbox.cache,
      }),
      folder: cwd ?? temporary,
    });
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
};

const notRunnable = (why: string): RunResult => ({ outcome: 'not_runnable', why });

/** Its command is for the operator alone. */
const notStarted = (
  { log }: ProcessHost,
  { name, program, work: { run_id } }: RequestedProgram,
  why: string,
): RunResult => {
  log.warn({ run_id, program: name, command: program.command, why }, 'a program cannot be started');
  return notRunnable(`The program ${name} cannot be started: ${why}.`);
};

interface ProgramOutput {
  /** Resolves when both streams are read to their end. */
  drained(): Promise<void>;
  data(): RunData;
  lost(): LostOutput | null;
  stderrTail(): string;
}

const MAX_LINE_BYTES = 64 * 1024;

/** Reads the messages and the log of a program in bounded memory. */
const readProgram = (process: SupervisedProcess, observe: RunObserver): ProgramOutput => {
  const messages = collectMessages(
    (report) => observe.progress(report),
    (line) => observe.log(line),
    MAX_OUTPUTS_BYTES,
  );
  const tail = stderrTail(STDERR_TAIL_BYTES);
  const draw = (drawing: string): void => messages.draw(drawing);
  const errorLines = readLines(MAX_LINE_BYTES, {
    take: ({ text }) => observe.log({ stream: 'stderr', line: text }),
    draw,
  });
  const streams = readStreams(process, {
    stdout: readMessages(MAX_LINE_BYTES, meansOutput, {
      take: (written) => messages.take(readMessage(written)),
      draw,
    }),
    stderr: {
      chunk: (chunk) => {
        tail.push(chunk);
        errorLines.chunk(chunk);
      },
      end: () => errorLines.end(),
    },
  });
  return {
    drained: () => streams.drained(),
    data: () => messages.data(),
    lost: () => messages.lost(),
    stderrTail: () => tail.text(),
  };
};

/** The whole environment of a program with one process for each run. */
const programEnvironment = ({
  work,
  program: { env },
  host,
  mark,
  temporary,
  cache,
}: {
  readonly work: RunnerWork;
  readonly program: OperatorCommand;
  readonly host: HostEnvironment;
  readonly mark: Mark;
  /** The folder for temporary files of this run. */
  readonly temporary: string;
  /** That of its deployment; null without one. */
  readonly cache: string | null;
}): Record<string, string> => ({
  // What Python has printed is lost with a process that is killed, and comes late to whoever follows the log.
  PYTHONUNBUFFERED: '1',
  ...processEnvironment({ host, env, ...work.slot, temporary, cache, mark }),
  RUNLEDGER_INPUT_DIR: work.inputDir,
  RUNLEDGER_OUTPUT_DIR: work.outputDir,
  ...(typeof work.traceparent === 'string' ? { TRACEPARENT: work.traceparent } : {}),
  RUNLEDGER_RUN_ID: work.run_id,
  RUNLEDGER_ATTEMPT: String(work.attempt),
});
