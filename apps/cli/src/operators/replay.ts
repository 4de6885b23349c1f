import { breakpointOf, InvalidBreakpoint, type Breakpoint } from '@runledger/replay/breakpoints';
import { momentsOf, type Moment } from '@runledger/replay/moments';
import { playSlice } from '@runledger/replay/play-slice';
import { sleep, unlessAborted } from '@runledger/resilience/abort';
import { runOfDeliverySubject } from '@runledger/contracts/deliveries/delivery-attempts';
import { parseRunEvent } from '@runledger/contracts/events/run-event';
import { parseWebhookEvent } from '@runledger/contracts/events/webhook-event';
import { factSentence } from '@runledger/contracts/events/fact-sentence';
import type { SliceFact } from '@runledger/contracts/slices/slice';
import { TERMS } from '@runledger/contracts/events/leader-terms';
import { CommandError, EXIT, type ExitCode, plain } from '../command/command-error.ts';
import { asCommandError, playOptions, type ReplayContext, describeVerdict, plainSentence } from './shadow.ts';

export interface ReplayOptions {
  readonly tolerance: string;
  readonly speed?: string;
  readonly step?: boolean;
  readonly break?: readonly string[];
}

export interface InteractiveContext extends ReplayContext {
  readonly stdin: AsyncIterable<Uint8Array>;
  readonly signal: AbortSignal;
}

/** Prints each fact of a slice, with what the scheduler decides beside the recorded decisions, and stops where it is asked to. @throws {CommandError} */
export const replay = async (
  context: InteractiveContext,
  slice: string,
  options: ReplayOptions,
): Promise<ExitCode> => {
  const { screen, stdin, signal } = context;
  const played = playOptions(context, slice, options.tolerance);
  const speed = speedOf(options.speed);
  const breakpoints = (options.break ?? []).map(readBreakpoint);
  await using commands = commandsFrom(stdin, signal);
  let isStepping = options.step ?? false;
  let before: string | undefined;
  try {
    for await (const moment of momentsOf(playSlice(played))) {
      const { fact, header } = moment;
      if (fact.time < header.from) continue;
      await pause(before, fact.time, { speed, signal });
      before = fact.time;
      screen.result({ fact, decisions: moment.verdicts }, () => describeMoment(moment));
      const stopsHere = breakpoints.some((isHere) => isHere(moment));
      if (stopsHere) screen.hint('Stopped at a breakpoint.');
      if (!stopsHere && !isStepping) continue;
      const next = await ask(context, commands, moment);
      if (next === 'quit') return EXIT.done;
      isStepping = next === 'next';
    }
  } catch (error) {
    if (signal.aborted) return EXIT.cancelled;
    return asCommandError(error);
  }
  return EXIT.done;
};

/** A replay that stands still longer than this is of no use to anybody. */
const MAX_PAUSE_MS = 24 * 3_600_000;

const pause = async (
  before: string | undefined,
  time: string,
  { speed, signal }: { readonly speed: number; readonly signal: AbortSignal },
): Promise<void> => {
  const ms = before === undefined ? 0 : (Date.parse(time) - Date.parse(before)) / speed;
  if (ms > 0) await sleep(Math.min(ms, MAX_PAUSE_MS), signal);
  signal.throwIfAborted();
};

/** Infinity without pauses. @throws {CommandError} */
const speedOf = (text: string | undefined): number => {
  if (text === undefined) return Infinity;
  const speed = text === 'original' ? 1 : /^\d{1,6}(?:\.\d{1,3})?$/.test(text) ? Number(text) : 0;
  if (speed > 0) return speed;
  throw new CommandError(`--speed ${plain(text)} is neither "original" nor a number above 0, such as 10.`);
};

const readBreakpoint = (text: string): Breakpoint => {
  try {
    return breakpointOf(text);
  } catch (error) {
    if (error instanceof InvalidBreakpoint) throw new CommandError(plain(error.message), { cause: error });
    throw error;
  }
};

/** What the person wants next. At the end of the input all that is left is played. */
const ask = async (
  { screen }: ReplayContext,
  commands: StepCommands,
  moment: Moment,
): Promise<'next' | 'continue' | 'quit'> => {
  for (;;) {
    screen.hint('n or Enter: next, c: continue, p: print the run, q: quit');
    const command = await commands.next();
    switch (command) {
      case '':
      case 'n':
        return 'next';
      case undefined:
      case 'c':
        return 'continue';
      case 'q':
        return 'quit';
      case 'p':
        for (const line of describeRun(moment)) screen.print(line);
        break;
      default:
        screen.hint(`${plain(command)} is none of them.`);
    }
  }
};

/** A fact, and below it the decisions that were compared since the one before. */
const describeMoment = ({ fact, verdicts }: Moment): string[] => [
  `${fact.time}  ${fact.stream} ${fact.sequence}  ${factText(fact)}`,
  ...verdicts.flatMap((verdict) =>
    verdict.kind === 'equal' ? ['  scheduler decides the same'] : describeVerdict(verdict).map(indented),
  ),
];

/** The run of the fact as it is now, and what the scheduler knows of it. */
const describeRun = ({ fact, run, viewOf }: Moment): string[] => {
  const { run_id } = Object(fact.event);
  if (typeof run_id !== 'string') return ['The fact is about no run.'];
  return [
    'run:',
    ...jsonLines(run ?? 'its first facts are not in the slice'),
    'scheduler:',
    ...jsonLines(viewOf(run_id) ?? 'knows nothing of it, because it has ended or is not in the slice'),
  ];
};

const factText = ({ subject, event }: SliceFact): string => {
  if (subject === TERMS) return 'a scheduler begins to lead';
  const run = parseRunEvent(event);
  const parsed = run.kind === 'event' ? run : parseWebhookEvent(event);
  if (parsed.kind === 'event') {
    const { type, run_id } = parsed.event;
    return `${type} of run ${run_id}: ${plainSentence(factSentence(parsed.event))}`;
  }
  const delivery = runOfDeliverySubject(subject);
  if (delivery && event !== null) return plain(`${deliveryText(event)} of run ${delivery.run_id}`);
  const { type, executor_id, executor_name } = Object(event);
  return type === undefined
    ? 'a message that this release does not know'
    : plain(`${type} of ${executor_id ?? executor_name ?? 'nobody'}`);
};

/** Of a message of DELIVERY_ATTEMPTS. */
const deliveryText = (event: object): string => {
  const { notification, round, try: number, reason, state, tries } = Object(event);
  return state === undefined
    ? `attempt ${number} of round ${round}, ${notification}: ${reason},`
    : `delivery is ${state} after ${tries} attempts of round ${round}`;
};

const jsonLines = (value: unknown): string[] => JSON.stringify(value, undefined, 2).split('\n').map(indented);

const indented = (line: string): string => `  ${line}`;

interface StepCommands extends AsyncDisposable {
  /** The next line of a person, without spaces around it; undefined at the end of the input. @throws the signal's reason */
  readonly next: () => Promise<string | undefined>;
}

/** No command is longer: the rest of a line is dropped. */
const MAX_LINE = 1_000;

/** Reads lines as they are wanted. The input is not touched before the first. */
const commandsFrom = (stdin: AsyncIterable<Uint8Array>, signal: AbortSignal): StepCommands => {
  const lines = linesOf(stdin);
  return {
    next: async () => {
      const { value, done } = await unlessAborted(lines.next(), signal);
      return done ? undefined : value.trim();
    },
    [Symbol.asyncDispose]: async () => {
      // While a line is awaited it would wait for that line.
      if (!signal.aborted) await lines.return(undefined);
    },
  };
};

async function* linesOf(stdin: AsyncIterable<Uint8Array>): AsyncGenerator<string, undefined> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of stdin) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = (lines.pop() ?? '').slice(0, MAX_LINE);
    yield* lines;
  }
  if (rest !== '') yield rest;
  return undefined;
}
