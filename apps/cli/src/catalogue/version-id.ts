import { isUuid } from '@runledger/contracts/ids';
import type { ListedVersion } from '@runledger/contracts/http/catalogue/workflow-versions';
import type { ApiCall } from '../api-client/api-call.ts';
import { CommandError } from '../output/command-error.ts';
import { pages } from '../api-client/pages.ts';
import { plain } from '../output/plain-text.ts';
import type { ListedRecords, SingleRecords } from './records.ts';

const PAGE = 100;

type Versions = Pick<ListedRecords<ListedVersion>, 'path' | 'readPage'>;

/** Finds the id of a version of a workflow: what is given is its id or its number. @throws CommandError */
export const idByNumber =
  (versions: Versions, workflow: string): SingleRecords<unknown>['idOf'] =>
  async (call, given) => {
    if (isUuid(given)) return given;
    const list = `List them with: runledger workflows versions ${plain(workflow)}`;
    if (!/^[1-9]\d{0,8}$/.test(given))
      throw new CommandError(`${plain(given)} is neither the number nor the id of a version. ${list}`);
    const number = Number(given);
    const id =
      (await idOfNumber(call, versions, { number, archived: false })) ??
      (await idOfNumber(call, versions, { number, archived: true }));
    if (id !== undefined) return id;
    throw new CommandError(`The workflow has no version ${number}. ${list}, and with --archived`);
  };

interface NumberedVersion {
  readonly number: number;
  readonly archived: boolean;
}

/** The API lists either archived versions or the others. */
const idOfNumber = async (
  call: ApiCall,
  { path, readPage }: Versions,
  { number, archived }: NumberedVersion,
): Promise<string | undefined> => {
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
