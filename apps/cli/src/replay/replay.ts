import { breakpointOf, InvalidBreakpoint, type Breakpoint } from '@runledger/replay/breakpoints';
import { momentsOf, type Moment } from '@runledger/replay/moments';
import { playSlice } from '@runledger/replay/play-slice';
import { sleep } from '@runledger/resilience/abort';
import { CommandError, EXIT, type ExitCode } from '../output/command-error.ts';
import { plain } from '../output/plain-text.ts';
import { describeMoment, describeRun } from './describe-moment.ts';
import { asCommandError, playOptions, type PlayedOptions, type ReplayContext } from './play-options.ts';
import { commandsFrom, type StepCommands } from './step-commands.ts';

export interface ReplayOptions extends PlayedOptions {
  readonly speed?: string;
  readonly step?: boolean;
  readonly break?: readonly string[];
}

export interface InteractiveContext extends ReplayContext {
  readonly stdin: AsyncIterable<Uint8Array>;
  readonly signal: AbortSignal;
}

/** Prints each fact of a slice, with what services decide beside the recorded decisions, and stops where it is asked to. @throws {CommandError} */
export const replay = async (
  context: InteractiveContext,
  slice: string,
  options: ReplayOptions,
): Promise<ExitCode> => {
  const { screen, stdin, signal } = context;
  const { json = false, step = false } = options;
  const played = playOptions(context, slice, options);
  const speed = speedOf(options.speed);
  const breakpoints = (options.break ?? []).map(readBreakpoint);
  await using commands = commandsFrom(stdin, signal);
  let isStepping = step;
  let before: string | undefined;
  try {
    for await (const moment of momentsOf(playSlice(played))) {
      const { fact, header } = moment;
      if (fact.time < header.from) continue;
      await pause(before, fact.time, { speed, signal });
      before = fact.time;
      print(context, moment, json);
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

const print = ({ screen }: ReplayContext, moment: Moment, json: boolean): void => {
  if (json) screen.printJson({ fact: moment.fact, decisions: moment.verdicts });
  else for (const line of describeMoment(moment)) screen.print(line);
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
