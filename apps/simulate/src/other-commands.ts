import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { PICTURES } from './pictures/pictures.ts';
import { readWhatIf, WHAT_IF_USAGE, whatIf } from './what-if/what-if.ts';

/** What the command does besides looking for violations. */
const COMMANDS: readonly {
  readonly option: string;
  readonly usage: string;
  readonly run: (args: readonly string[], print: (line: string) => void) => Promise<void>;
}[] = [
  {
    option: '--day',
    usage: WHAT_IF_USAGE,
    run: (args, print) => whatIf(readWhatIf(args), print),
  },
  {
    option: '--pictures',
    usage: 'npm run simulate -- --pictures FOLDER\n  draws the pictures of docs/scheduling.md',
    run: async (args, print) => {
      const { values } = parseArgs({
        args: [...args],
        options: { pictures: { type: 'string', default: '' } },
      });
      await drawPictures(values.pictures, print);
    },
  },
];

/** The exit status; undefined when the arguments ask for no such command. */
export const runOtherCommand = async (
  args: readonly string[],
  print: (line: string) => void,
): Promise<number | undefined> => {
  const command = COMMANDS.find(({ option }) => args.some((arg) => arg.split('=')[0] === option));
  if (!command) return undefined;
  try {
    await command.run(args, print);
    return 0;
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n${command.usage}\n`);
    return 2;
  }
};

const drawPictures = async (folder: string, print: (line: string) => void): Promise<void> => {
  if (folder === '') throw new RangeError('--pictures needs a folder.');
  await mkdir(folder, { recursive: true });
  for (const [name, draw] of PICTURES) {
    await writeFile(join(folder, name), draw());
    print(`Drew ${join(folder, name)}`);
  }
};
