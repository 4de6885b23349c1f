import type { Logger } from '@runledger/event-log/connect/observability';
import type { StateOfVersion } from '@runledger/contracts/requests/ready-slots';
import { randomUUID } from 'node:crypto';
import { basename } from 'node:path';
import { namedCache } from '../../supervision/process-environment.ts';
import { stateOfKept } from '../../residents/resident-process.ts';
import type { RunOfSlot, SlotProcesses } from '../../residents/resident-processes.ts';
import type { Acquired, Lease } from '../../residents/start-process.ts';
import { cancelWithGrace } from '../../supervision/supervised-process.ts';
import type { LentFolders } from '../../folders/lent-folders.ts';
import type { Sandbox } from '../../supervision/supervisors.ts';
import { programCode } from '../../view/program-code.ts';
import { programView } from '../../view/program-view.ts';
import { countOomKills, recentOomKills } from '../output/oom-kills.ts';
import { hidingValues, type FailedProgram } from '../output/program-error.decide.ts';
import { collectOutputs, outputResult } from '../output/output-result.ts';
import type { RunnerHost } from '../runner-type.ts';
import type { LogLine, Runner, RunObserver, RunResult, RunnerWork } from '../runner.ts';
import type { ResidentProgram } from './allow-list.ts';
import { connectProgram, type ProgramConnection } from './program-connection.ts';
import type { NamedProgram } from './program-runner.ts';
import { crashed, failedRun, notReady } from './resident-error.ts';

/** A program that stays loaded between runs, wherever it is from. */
export interface NamedResident extends NamedProgram {
  readonly program: ResidentProgram;
  /** Its own among all that the executor keeps: processes with it have one cache. */
  readonly resident: string;
  /** For each of its processes: what must stay as it is until the process has ended. */
  readonly hold?: () => Disposable;
}

/** A program of the allow-list that stays loaded between runs and executes one at a time in each slot. The README has the contract for programs. */
export const residentRunner = (host: RunnerHost, name: string, program: ResidentProgram): Runner =>
  runResident(host, {
    name,
    program,
    resident: `program ${name}`,
    view: (slot, withheld) => programView(program, slot, withheld),
    code: programCode(program, host.supervisors.withheld, host.log),
  });

/** A program that stays loaded, and that can be loaded before its runs come. */
export interface ResidentRunner extends Runner {
  /** Loads it in the slot, and keeps it there until then (`performance.now()`) unless another run needs the slot. */
  keep(run: RunOfSlot, untilMs: number): StateOfVersion;
}

export const runResident = (host: RunnerHost, named: NamedResident): ResidentRunner => {
  const { name, program } = named;
  const slots = new Map(host.slots.map((slot) => [slot.index, openSlot(host, named, slot)]));
  return {
    run: async (work, observe, signal) => {
      const slot = slots.get(work.slot.index);
      if (slot === undefined) throw new Error(`The program ${name} has no slot ${work.slot.index}.`);
      slot.useLog((line) => observe.log(line));
      try {
        return await run({ host, name, program, slot, work, observe, signal });
      } finally {
        slot.useLog(null);
      }
    },
    keep: (kept, untilMs) =>
      stateOfKept(slots.get(kept.slot.index)?.processes.keep(kept, untilMs) ?? NO_SLOT, (why, connection) => {
        const stderr = connection === null ? '' : connection.hide(connection.stderrTail());
        return sentenceOf(notReady(why, { name, isMemoryShort: false, temporaryBytes: null, stderr }));
      }),
  };
};

const NO_SLOT = { state: 'occupied' } as const;

const sentenceOf = (result: RunResult): string => {
  if (result.outcome === 'failed') return result.error.message;
  return result.outcome === 'not_runnable' ? result.why : 'The executor stops.';
};

/** The names that the program sees them by, when those of its own folder are replaced. */
const hidingFolders = ({ folders: { inputDir, outputDir } }: LentFolders): Hide =>
  hidingValues(
    { env: {} },
    { input_dir: `$TMPDIR/${basename(inputDir)}`, output_dir: `$TMPDIR/${basename(outputDir)}` },
  );

/** In the environment of a program: how the marks begin that it writes into its log. */
const MARK_VARIABLE = 'RUNLEDGER_LOG_MARK';
const MARK = 'runledger-log';
/** In that of a program that organisations share: it is to say of what it prints for which run it is. */
const BY_RUN_VARIABLE = 'RUNLEDGER_LOG_BY_RUN';

interface SlotOfProgram {
  readonly processes: SlotProcesses<ConnectedProgram>;
  /** Who gets what the program writes while it is loaded: the run that waits for it. */
  useLog(log: RunObserver['log'] | null): void;
}

interface ConnectedProgram extends ProgramConnection {
  /** A text without what clients must not see of the process. */
  readonly hide: Hide;
  readonly sandbox: Sandbox;
}

const openSlot = (
  { residents, log }: RunnerHost,
  { name, program, resident, view, code, hold }: NamedResident,
  slot: RunnerWork['slot'],
): SlotOfProgram => {
  /** What it writes without a run is for the operator, and the beginning of it is enough. */
  const withoutRun = (): ((line: LogLine) => void) => debugLines(log, { program: name, slot: slot.index });
  let between = withoutRun();
  let loading: ((line: LogLine) => void) | null = null;
  const mark = `${MARK}-${randomUUID()}`;
  const processes = residents.open(
    {
      name: resident,
      ...program,
      env: {
        ...program.env,
        [MARK_VARIABLE]: mark,
        ...(program.shared === true ? { [BY_RUN_VARIABLE]: '1' } : {}),
      },
      shared: program.shared ?? false,
      code,
      view,
      connect: (process, gone, sandbox) => {
        const held = hold?.();
        gone.addEventListener('abort', () => held?.[Symbol.dispose](), { once: true });
        const hide = hidingValues(program, { TMPDIR: sandbox.folder, ...namedCache(sandbox) });
        const connection = connectProgram(process, mark, {
          loading: ({ stream, line }) => (loading ?? between)({ stream, line: hide(line) }),
          between: ({ stream, line }) => between({ stream, line: hide(line) }),
        });
        return { ...connection, hide, sandbox };
      },
      askToEnd: (process) => void process.stdin.end(),
    },
    [slot],
  );
  return {
    processes,
    useLog: (runLog) => {
      loading = runLog;
      between = withoutRun();
    },
  };
};

interface Run {
  readonly host: RunnerHost;
  readonly name: string;
  readonly program: ResidentProgram;
  readonly slot: SlotOfProgram;
  readonly work: RunnerWork;
  readonly observe: RunObserver;
  readonly signal: AbortSignal;
}

/** A text without what clients must not see of the process and the run. */
type Hide = (text: string) => string;

const unredacted: Hide = (text) => text;

const CANCELLED: RunResult = { outcome: 'cancelled', forced: false, files: [] };

const run = async (of: Run): Promise<RunResult> => {
  const { name, slot, work, observe, signal } = of;
  const oomKills = recentOomKills();
  let isLoading = false;
  const acquired = await slot.processes.acquire(work, signal, () => {
    isLoading = true;
    observe.progress({ progress: 0, live_status: `loading ${name}` });
  });
  if (isLoading) observe.progress({ progress: 0, live_status: null });
  if (acquired.kind === 'cancelled') return CANCELLED;
  if (acquired.kind === 'refused') return refused(of, acquired, oomKills);
  const { lease } = acquired;
  const lent = await begin(of, lease);
  return lent === null ? CANCELLED : execute(of, lease, lent, oomKills);
};

/** Null when the run is over before it begins: the process is free again then, and when it gets no folders. */
const begin = async ({ work, observe }: Run, lease: Lease<ConnectedProgram>): Promise<LentFolders | null> => {
  let isBegun = false;
  try {
    const { connection } = lease;
    const beginning = observe.begin(lease.loadingMs, await lease.code);
    // While the log stores it.
    const lending = connection.sandbox.lend(work, connection.makesOutputDir());
    lending.catch(() => undefined);
    const mayBegin = await beginning;
    const lent = await lending;
    if (mayBegin) isBegun = true;
    else await lent.takeBack();
    return mayBegin ? lent : null;
  } finally {
    if (!isBegun) lease.release();
  }
};

const refused = async (
  of: Run,
  { why, connection }: Extract<Acquired<ConnectedProgram>, { readonly kind: 'refused' }>,
  oomKills: number,
): Promise<RunResult> => {
  if (why.kind === 'ended') await connection?.drained;
  const { log } = of.host;
  log.warn(
    { run_id: of.work.run_id, program: of.name, command: of.program.command, why },
    'a program is not ready',
  );
  const hide = connection?.hide ?? unredacted;
  return notReady(why, failedProgram(of, connection, { oomKills, hide }));
};

const execute = async (
  of: Run,
  lease: Lease<ConnectedProgram>,
  lent: LentFolders,
  oomKills: number,
): Promise<RunResult> => {
  const { host, work, observe, signal } = of;
  const { connection } = lease;
  const hideFolders = hidingFolders(lent);
  const hide = (text: string): string => hideFolders(connection.hide(text));
  const log = ({ stream, line }: LogLine): void => observe.log({ stream, line: hide(line) });
  const current = await connection.begin({ ...work, ...lent.folders }, { ...observe, log }, lease.isMixed);
  const process = { terminate: () => current.cancel(), kill: () => void lease.discard() };
  using cancel = cancelWithGrace(process, signal, host.cancelGraceMs);
  const over = await current.over;
  const isUsable = over.kind !== 'crashed' && !cancel.forced;
  if (!isUsable) await lease.ended;
  await lent.takeBack();
  if (isUsable) lease.release();
  noteUnknownLines(of, current.unknownLines());

  const collected = await collectOutputs(lent, work, observe);
  const { files } = collected;
  if (signal.aborted) return { outcome: 'cancelled', forced: cancel.forced, files };
  if (over.kind === 'done') {
    const shown = (text: string): string => observe.masked(hide(text));
    return outputResult({ name: of.name, output: current, hide: shown }, collected);
  }
  const program = failedProgram(of, connection, { oomKills, hide });
  const error =
    over.kind === 'failed'
      ? failedRun({ ...over, message: hide(over.message) }, program)
      : crashed(await lease.ended, program);
  return { outcome: 'failed', error, files };
};

const noteUnknownLines = ({ host, work, name }: Run, lines: number): void => {
  if (lines === 0) return;
  const what = { run_id: work.run_id, program: name, slot: work.slot.index, lines };
  host.log.warn(
    what,
    'a shared program wrote lines that are of no run: the level debug has the first of them',
  );
};

const failedProgram = (
  { name, observe }: Run,
  connection: ConnectedProgram | null,
  { oomKills, hide }: { readonly oomKills: number; readonly hide: Hide },
): FailedProgram => ({
  name,
  isMemoryShort: countOomKills() > oomKills,
  temporaryBytes: connection?.sandbox.temporaryBytes ?? null,
  stderr: connection === null ? '' : observe.masked(hide(connection.stderrTail())),
});

const MAX_BYTES = 64 * 1024;
const MAX_LINE = 1_000;

/** What a program writes while it has no run goes to the executor's own log: the first lines of it. */
const debugLines = (log: Logger, what: object): ((line: LogLine) => void) => {
  let left = MAX_BYTES;
  return ({ stream, line }) => {
    if (left <= 0 || line === '') return;
    left -= line.length;
    log.debug({ ...what, stream, line: line.slice(0, MAX_LINE) }, 'a line of a program without a run');
    if (left <= 0) log.debug(what, 'further lines before the next run are not logged');
  };
};
