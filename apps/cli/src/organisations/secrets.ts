import { readFile, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import {
  MAX_ORGANISATION_SECRET_BYTES,
  Secret,
  SecretList,
} from '@runledger/contracts/http/catalogue/secrets';
import { codeOf } from '@runledger/resilience/errors';
import type { Command } from 'commander';
import { at, Nothing } from '../api/api-call.ts';
import type { Client, CommandContext } from '../command/command-context.ts';
import { CommandError, plain } from '../command/command-error.ts';
import { printTable, type Column } from '../command/table.ts';

const columns: readonly Column<Secret>[] = [
  { title: 'NAME', width: 32, of: ({ name }) => name },
  { title: 'SET', width: 24, is: 'time', of: ({ updated_at }) => updated_at },
  { title: 'CREATED', width: 24, is: 'time', of: ({ created_at }) => created_at },
  { title: 'BY USER', width: 0, of: ({ updated_by }) => updated_by },
];

interface SetOptions {
  readonly fromFile?: string;
}

/** The secrets of the organisation, which code of folders gets as variables. */
export const addSecretCommands = (
  program: Command,
  { withClient, add }: CommandContext,
  stdin: AsyncIterable<Uint8Array>,
): void => {
  const group = program
    .command('secrets')
    .description('secrets of the organisation, which the code of folders gets as variables');
  add(group, 'list', 'list their names; nobody is shown a value').action(
    withClient(async ({ call, screen }) => {
      const { secrets } = await call(SecretList, { method: 'GET', path: '/secrets' });
      printTable(screen, columns, secrets);
    }),
  );
  add(group, 'set', 'create a secret, or give it another value, which the next runs get')
    .argument('<secret>', 'its name, such as HF_TOKEN')
    .option('--from-file <file>', 'the value is what the file has, to the last byte')
    .addHelpText('after', SET_HELP)
    .action(withClient((client, name: string, options: SetOptions) => set(client, name, options, stdin)));
  add(group, 'remove', 'remove a secret; runs of versions that name it fail from then on')
    .argument('<secret>', 'its name')
    .action(
      withClient(async ({ call, screen }, name: string) => {
        await call(Nothing, { method: 'DELETE', path: at`/secrets/${name}` });
        screen.result({ name, removed: true }, () => `The secret ${plain(name)} is removed.`);
      }),
    );
};

const SET_HELP = `
The value is asked for and not shown. Without a terminal it is read from standard input, without the last line end:

  printf %s "$TOKEN" | runledger secrets set HF_TOKEN

It is never an argument, which other programs of the machine and the history of the shell would see.`;

/** @throws CommandError without a change */
const set = async (
  { call, screen, cwd }: Client,
  name: string,
  { fromFile }: SetOptions,
  stdin: AsyncIterable<Uint8Array>,
): Promise<void> => {
  const bytes =
    fromFile === undefined
      ? withoutLineEnd(await typedOrRead(name, screen, stdin))
      : await bytesOfFile(resolve(cwd, fromFile), fromFile);
  const value = textOf(bytes);
  const secret = await call(Secret, { method: 'PUT', path: at`/secrets/${name}`, body: { value } });
  screen.result(secret, () => `The secret ${plain(secret.name)} is set. The next runs get it.`);
};

const typedOrRead = async (
  name: string,
  screen: Client['screen'],
  stdin: AsyncIterable<Uint8Array>,
): Promise<Buffer> => {
  const typed = await screen.ask(`Value of ${plain(name)} (it is not shown): `, { hidden: true });
  if (typed !== undefined) return Buffer.from(typed);
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of stdin) {
    pieces.push(piece);
    bytes += piece.byteLength;
    if (bytes > MAX_ORGANISATION_SECRET_BYTES + LINE_END_BYTES) break;
  }
  return Buffer.concat(pieces);
};

/** `\r\n`. */
const LINE_END_BYTES = 2;

const withoutLineEnd = (bytes: Buffer): Buffer => {
  if (bytes.at(-1) !== 0x0a) return bytes;
  return bytes.subarray(0, bytes.at(-2) === 0x0d ? -2 : -1);
};

const bytesOfFile = async (path: string, shown: string): Promise<Buffer> => {
  try {
    const { size } = await stat(path);
    if (size > MAX_ORGANISATION_SECRET_BYTES) throw tooLong(`The file ${plain(shown)} has ${size} bytes`);
    return await readFile(path);
  } catch (error) {
    if (error instanceof CommandError) throw error;
    throw new CommandError(`The file ${plain(shown)} cannot be read: ${codeOf(error)}.`);
  }
};

const tooLong = (what: string): CommandError =>
  new CommandError(`${what}, and a secret may have ${MAX_ORGANISATION_SECRET_BYTES}. Nothing was changed.`);

/** @throws CommandError, which does not repeat the value */
const textOf = (bytes: Buffer): string => {
  if (bytes.byteLength === 0)
    throw new CommandError(
      'No value was given. Type it when asked, write it to standard input, or name a file with --from-file.',
    );
  if (bytes.byteLength > MAX_ORGANISATION_SECRET_BYTES) throw tooLong('The value is too long');
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    if (!text.includes('\0')) return text;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
  }
  throw new CommandError('The value is no text in UTF-8, or has a NUL. Encode it, such as in base64.');
};
