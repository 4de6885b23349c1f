import { isUuid } from '@runledger/contracts/ids';
import type { ApiCall } from '../api-client/api-call.ts';
import { CommandError } from '../output/command-error.ts';
import { plain } from '../output/plain-text.ts';
import type { ListedRecords, SingleRecords } from './records.ts';

type Named<Item> = Pick<ListedRecords<Item>, 'what' | 'path' | 'readPage'>;

/** Of several records with one name, as many are shown. */
const CANDIDATES = 10;

/** The error for a name that several records have. `noun`: what they are. `list`: the command that lists them. */
export const ambiguous = (
  noun: string,
  name: string,
  { items, list }: { readonly items: readonly Identified[]; readonly list: string },
): CommandError => {
  const lines = items.slice(0, CANDIDATES).map(({ id, created_at }) => `  ${id}  created ${created_at}`);
  const more = items.length > CANDIDATES ? [`  and more: ${list}`] : [];
  return new CommandError(
    [`More than one ${noun} has the name ${plain(name)}. Use an id:`, ...lines, ...more].join('\n'),
  );
};

interface Identified {
  readonly id: string;
  readonly created_at: string;
}

/** The record with this name; undefined when there is none. @throws CommandError when several have it */
export const recordNamed = async <Item extends Identified>(
  call: ApiCall,
  { what, path, readPage }: Named<Item>,
  { name, archived }: { readonly name: string; readonly archived: boolean },
): Promise<Item | undefined> => {
  const { items } = await readPage(call, {
    method: 'GET',
    path,
    query: { name, archived, limit: CANDIDATES + 1 },
  });
  if (items.length < 2) return items[0];
  const [noun, option] = archived
    ? [`archived ${what.toLowerCase()}`, ' --archived']
    : [what.toLowerCase(), ''];
  throw ambiguous(noun, name, { items, list: `runledger ${path.slice(1)} list${option}` });
};

/**
 * Finds the id of a record: what is given is its id, or the name that no other record has. Archived ones come last.
 * @throws CommandError
 */
export const idByName =
  (kind: Named<Identified>): SingleRecords<unknown>['idOf'] =>
  async (call, given) => {
    if (isUuid(given)) return given;
    const found =
      (await recordNamed(call, kind, { name: given, archived: false })) ??
      (await recordNamed(call, kind, { name: given, archived: true }));
    if (found !== undefined) return found.id;
    throw new CommandError(
      `No ${kind.what.toLowerCase()} has the name or the id ${plain(given)}. List them with: runledger ${kind.path.slice(1)} list`,
    );
  };

/** The id of an option that names a record; undefined without the option. @throws CommandError */
export const optionalId = async (
  call: ApiCall,
  { idOf }: Pick<SingleRecords<unknown>, 'idOf'>,
  given: string | undefined,
): Promise<string | undefined> => (given === undefined ? undefined : idOf(call, given));
