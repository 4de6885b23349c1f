import type { Command } from 'commander';
import { type CommandContext, unlessInterrupted } from '../command/command-context.ts';
import { jsonFiles, type FileSources } from '../command/option-values.ts';
import { outputTarget } from '../command/write-output.ts';
import { captureOf, DEFAULT_WARM_UP, DEFAULT_RATE, type CaptureOptions } from './capture-options.ts';
import type { ContentOptions } from './capture.ts';
import type { Environment } from '../api/connection.ts';
import type { ReplayOptions } from './replay.ts';

const HELP = `
A slice has facts of runs, of executors, and outcomes of delivery attempts. With several conditions it
is of the runs that match them all. Of what clients and programs wrote it has nothing, unless --keep
names it: inputs, outputs, addresses, texts, tags, secret_names, traces, or all. Values of secret
inputs and keys of output files it never has. --mask names a JSON file such as
{"inputs": ["/prompt"], "outputs": ["/data/text"]}: JSON pointers to what is replaced by a
pseudonym.`;

export const addCaptureCommand = (program: Command, context: CommandContext, files: FileSources): void => {
  const { asOperator, screen, stdout } = context;
  program
    .command('capture')
    .description('write the facts of a time, or of runs, to a file for replays and what-ifs (operator)')
    .option('--from <time>', 'facts of this time or later, such as 2026-05-01T12:00:00Z')
    .option('--to <time>', 'facts before this time')
    .option('--warm-up <time>', 'of runs queued so long before, all facts too', DEFAULT_WARM_UP)
    .option('--run <run...>', 'only these runs; without --from and --to all that the log holds of them')
    .option('--deployment <id...>', 'only the runs of these deployments')
    .option('--organisation <id...>', 'only the runs of these organisations')
    .option('--keep <kinds>', 'content that the slice has, with commas; none by default')
    .option('--mask <file>', 'what of kept inputs and outputs is replaced')
    .option('--output <file>', 'instead of standard output')
    .option('--rate <n>', 'read at most so many messages a second', DEFAULT_RATE)
    .addHelpText('after', HELP)
    .action(
      async ({
        output,
        keep,
        mask,
        ...options
      }: CaptureOptions & ContentOptions & { readonly output?: string }) => {
        const { capture, contentOf } = await import('./capture.ts');
        const chosen = { ...(keep !== undefined && { keep }), ...(mask !== undefined && { mask }) };
        const wanted = { ...captureOf(options), content: await contentOf(chosen, jsonFiles(files)) };
        const { cwd } = files;
        const target = outputTarget(output, { cwd, screen, stdout, what: 'A slice is compressed' });
        await unlessInterrupted(context, 'slice', (signal) =>
          asOperator(({ log }) => capture({ log, screen, target, signal }, wanted)),
        );
      },
    );
};

/** The commands that play a slice through the code of the scheduler. They need no connection, and load what they need when they run. */
export const addReplayCommands = (
  program: Command,
  { screen, untilInterrupted, end, add }: CommandContext,
  { env, cwd, stdin }: Surroundings,
): void => {
  add(
    program,
    'shadow <slice>',
    'play a captured slice through the code of the scheduler, and list each decision that differs from the recorded one: exit code 1 when one does',
  )
    .option('--tolerance <time>', 'how long a decision may have taken until it was stored', DEFAULT_TOLERANCE)
    .action(async (slice: string, { tolerance }: { readonly tolerance: string }) => {
      const { shadow } = await import('./shadow.ts');
      end(await shadow({ screen, env, cwd }, slice, tolerance));
    });
  add(
    program,
    'replay <slice>',
    'print each fact of a captured slice, and what the scheduler decides now beside the recorded decision',
  )
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

/** A busy broker stores a fact within some milliseconds; a scheduler that executes many decisions takes longer. */
const DEFAULT_TOLERANCE = '2s';

const collect = (name: string, names: readonly string[] = []): readonly string[] => [...names, name];
