import type { Command } from 'commander';
import { DEFAULT_LIMIT } from '../command/list-pages.ts';
import type { Json, CommandContext } from '../command/command-context.ts';
import { archiveRecord, deleteRecord, readRecord, showRecord } from './records.ts';
import type { SingleRecords } from './records.ts';

/** Adds a list of records, newest first. The caller adds its action. */
export const addRecordList = (
  { add }: CommandContext,
  group: Command,
  { name, description }: { readonly name: string; readonly description: string },
): Command =>
  add(group, name, description)
    .option('--archived', 'list archived records instead')
    .option('--limit <number>', 'print at most this many', DEFAULT_LIMIT);

export const addRecordShow = <Item extends { readonly id: string }>(
  { client, end, add }: CommandContext,
  group: Command,
  kind: SingleRecords<Item>,
): void => {
  const noun = kind.what.toLowerCase();
  add(group, `show <${noun}>`, `show a ${noun}`).action(async (given: string, { json }: Json) => {
    const { call, screen } = await client();
    end(showRecord(screen, kind, { item: await readRecord(call, kind, given), json }));
  });
};

export const addRecordDeletion = <Item extends { readonly id: string }>(
  { client, end, add }: CommandContext,
  group: Command,
  kind: SingleRecords<Item>,
  description: string,
): void => {
  add(group, `delete <${kind.what.toLowerCase()}>`, description).action(
    async (given: string, { json = false }: Json) =>
      end(await deleteRecord(await client(), kind, { given, json })),
  );
};

/** `show`, `archive`, `restore` and `delete`. */
export const addRecordCommands = <Item extends { readonly id: string }>(
  parts: CommandContext,
  group: Command,
  kind: SingleRecords<Item>,
): void => {
  const { client, end, add } = parts;
  const noun = kind.what.toLowerCase();
  addRecordShow(parts, group, kind);
  const addArchiving = (name: string, description: string, archived: boolean): void => {
    add(group, `${name} <${noun}>`, description).action(async (given: string, { json = false }: Json) => {
      const restoredBy = ({ id }: Item): string => `runledger ${group.name()} restore ${id}`;
      end(await archiveRecord(await client(), kind, { given, archived, restoredBy, json }));
    });
  };
  addArchiving('archive', `archive a ${noun}: nothing new can use it`, true);
  addArchiving('restore', `restore an archived ${noun}`, false);
  const deletion = `delete a ${noun} that was archived a minute ago and that nothing uses`;
  addRecordDeletion(parts, group, kind, deletion);
};
