import { isUuid } from '@runledger/contracts/ids';
import type { ApiCall } from '../api-client/api-call.ts';
import { CommandError } from '../output/command-error.ts';
import { pages } from '../api-client/pages.ts';
import { plain } from '../output/plain-text.ts';
import { versionsOf } from './workflow-versions.ts';

const PAGE = 100;

/** The id of a version from its id or its number. @throws CommandError */
export const versionIdOf = async (call: ApiCall, workflow: string, version: string): Promise<string> => {
  if (isUuid(version)) return version;
  const list = `List them with: runledger workflows versions ${plain(workflow)}`;
  if (!/^[1-9]\d{0,8}$/.test(version))
    throw new CommandError(`${plain(version)} is neither the number nor the id of a version. ${list}`);
  const number = Number(version);
  const id =
    (await idOfNumber(call, { workflow, number, archived: false })) ??
    (await idOfNumber(call, { workflow, number, archived: true }));
  if (id !== undefined) return id;
  throw new CommandError(`The workflow has no version ${number}. ${list}, and with --archived`);
};

interface NumberedVersion {
  readonly workflow: string;
  readonly number: number;
  readonly archived: boolean;
}

/** The API lists either archived versions or the others. */
const idOfNumber = async (
  call: ApiCall,
  { workflow, number, archived }: NumberedVersion,
): Promise<string | undefined> => {
  const { path, readPage } = versionsOf(workflow);
  const read = (cursor: string | undefined) =>
    readPage(call, { method: 'GET', path, query: { archived, limit: PAGE, cursor } });
  for await (const { items } of pages(read)) {
    const found = items.find((item) => item.number === number);
    if (found !== undefined) return found.id;
    // The newest come first.
    if (items.some((item) => item.number < number)) return undefined;
  }
  return undefined;
};
