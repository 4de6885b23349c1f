import type { Command } from 'commander';
import type { Environment } from '../api-client/connection.ts';
import type { CommandContext } from '../command/command-context.ts';
import type { ShadowOptions } from './shadow.ts';

/** The commands that play a slice through the code of services. They need no connection, and load what they need when they run. */
export const addReplayCommands = (
  program: Command,
  { screen, end, add }: CommandContext,
  { env, cwd }: { readonly env: Environment; readonly cwd: string },
): void => {
  add(
    program,
    'shadow <slice>',
    'play a captured slice through the code of services, and list each decision that differs from the recorded one: exit code 1 when one does',
  )
    .requiredOption('--service <name>', 'whose decisions are compared: scheduler', collect)
    .option('--tolerance <time>', 'how long a decision may have taken until it was stored', DEFAULT_TOLERANCE)
    .action(async (slice: string, options: ShadowOptions) => {
      const { shadow } = await import('./shadow.ts');
      end(await shadow({ screen, env, cwd }, slice, options));
    });
};

/** A busy broker stores a fact within some milliseconds; a scheduler that executes many decisions takes longer. */
const DEFAULT_TOLERANCE = '2s';

const collect = (name: string, names: readonly string[] = []): readonly string[] => [...names, name];
