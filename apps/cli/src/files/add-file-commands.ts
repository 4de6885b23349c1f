import { FilePage, UploadedFile } from '@runledger/contracts/http/files';
import type { Command } from 'commander';
import { at, Nothing } from '../api-client/api-call.ts';
import type { Client } from '../api-client/client.ts';
import type { CommandContext, Json } from '../command/command-context.ts';
import { DEFAULT_LIMIT, listPages, type ListOptions } from '../command/list-pages.ts';
import { EXIT, type ExitCode } from '../output/command-error.ts';
import type { Screen } from '../output/screen.ts';
import { headLine, rowLine, type Column } from '../output/table.ts';
import { uploadFile } from './upload-file.ts';

/** Files for inputs of runs. */
export const addFileCommands = (program: Command, { client, end, add }: CommandContext): void => {
  const group = program.command('files').description('files for inputs of runs');
  add(group, 'put <path>', 'upload a file; prints its id, the value of an input').action(
    async (path: string, { json = false }: Json) => {
      const opened = await client();
      const file = await uploadFile(opened, path);
      if (json) opened.screen.printJson(file);
      else opened.screen.print(file.id);
      end(EXIT.done);
    },
  );
  add(group, 'list', 'list files, the last uploaded one first')
    .option('--limit <number>', 'print at most this many', DEFAULT_LIMIT)
    .action(async (options: ListOptions) => end(await listFiles(await client(), options)));
  add(group, 'show <id>', 'what a file is, and when it expires').action(
    async (id: string, { json = false }: Json) => {
      const { call, screen } = await client();
      const file = await call(UploadedFile, { method: 'GET', path: at`/files/${id}` });
      if (json) screen.printJson(file);
      else show(screen, file);
      end(EXIT.done);
    },
  );
  add(group, 'delete <id>', 'delete a file; runs that name it and have not begun will fail').action(
    async (id: string, { json = false }: Json) => {
      const { call, screen } = await client();
      await call(Nothing, { method: 'DELETE', path: at`/files/${id}` });
      if (json) screen.printJson({ id });
      else screen.print(`File ${id} is deleted.`);
      end(EXIT.done);
    },
  );
};

const columns: readonly Column<UploadedFile>[] = [
  { title: 'ID', width: 36, of: ({ id }) => id },
  { title: 'BYTES', width: 11, of: ({ bytes }) => String(bytes) },
  { title: 'KEPT UNTIL', width: 24, is: 'time', of: ({ expires_at }) => expires_at },
  { title: 'NAME', width: 0, of: ({ filename }) => filename },
];

const listFiles = ({ call, screen }: Client, options: ListOptions): Promise<ExitCode> =>
  listPages(screen, options, {
    readPage: async (span) => {
      const { files, next_cursor } = await call(FilePage, {
        method: 'GET',
        path: '/files',
        query: { ...span },
      });
      return { items: files, next_cursor };
    },
    head: headLine(screen, columns),
    line: (file) => rowLine(screen, columns, file),
    none: 'There are no files.',
  });

const show = (screen: Screen, { filename, bytes, content_type, sha256, expires_at }: UploadedFile): void => {
  screen.print(`${filename}, ${content_type}, ${bytes} bytes`);
  screen.print(`sha256 ${sha256}`);
  screen.print(`kept until ${expires_at}, or longer when a run names it`);
};
