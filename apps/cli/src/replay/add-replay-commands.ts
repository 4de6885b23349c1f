import type { Command } from 'commander';
import type { Environment } from '../api-client/connection.ts';
import type { CommandContext } from '../command/command-context.ts';
import type { ReplayOptions } from './replay.ts';
import type { ShadowOptions } from './shadow.ts';

/** The commands that play a slice through the code of services. They need no connection, and load what they need when they run. */
export const addReplayCommands = (
  program: Command,
  { screen, untilInterrupted, end, add }: CommandContext,
  { env, cwd, stdin }: Surroundings,
): void => {
  add(
    program,
    'shadow <slice>',
    'play a captured slice through the code of services, and list each decision that differs from the recorded one: exit code 1 when one does',
  )
    .option('--service <name>', `whose decisions are compared: ${SERVICES}`, collect)
    .option('--tolerance <time>', 'how long a decision may have taken until it was stored', DEFAULT_TOLERANCE)
    .action(async (slice: string, options: ShadowOptions) => {
      const { shadow } = await import('./shadow.ts');
      end(await shadow({ screen, env, cwd }, slice, options));
    });
  add(
    program,
    'replay <slice>',
    'print each fact of a captured slice, and what services decide now beside the recorded decision',
  )
    .option('--service <name>', `whose decisions are shown: ${SERVICES}`, collect)
    .option('--tolerance <time>', 'how long a decision may have taken until it was stored', DEFAULT_TOLERANCE)
    .option('--speed <n>', 'original, or so many times faster; without it there are no pauses')
    .option('--step', 'wait after each fact: n or Enter, c, p, q')
    .option(
      '--break <point>',
      'stop there: fact=TYPE, run=ID, position=N, or an expression over fact, run and decision; can be repeated',
      collect,
    )
    .action(async (slice: string, options: ReplayOptions) => {
      const { replay } = await import('./replay.ts');
      const signal = untilInterrupted();
      end(await replay({ screen, env, cwd, stdin, signal }, slice, options));
    });
};

interface Surroundings {
  readonly env: Environment;
  readonly cwd: string;
  readonly stdin: AsyncIterable<Uint8Array>;
}

/** The list itself is loaded with the commands. */
const SERVICES = 'scheduler, notifier, gpu-executor or gateway; can be repeated, all by default';

/** A busy broker stores a fact within some milliseconds; a scheduler that executes many decisions takes longer. */
const DEFAULT_TOLERANCE = '2s';

const collect = (name: string, names: readonly string[] = []): readonly string[] => [...names, name];
