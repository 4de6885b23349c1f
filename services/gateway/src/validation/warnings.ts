import { nearestName } from '../names/nearest-name.ts';
import { pathText, type UnknownMember } from './ignored-members.ts';

/** Each may be as long as a name: together they must fit into the headers of a response. */
const MAX_WARNINGS = 8;

/** What a response warns of, in words that a header may have: names that the operation does not know, and ignored. */
export const warningsOf = (
  members: readonly UnknownMember[],
  /** Of the query. */
  parameters: readonly string[],
  known: readonly string[],
): string[] => {
  const all = [
    ...members.map((member) => warning('body member', member)),
    ...parameters.map((name) => warning('query parameter', { path: [name], known })),
  ];
  return all.slice(0, MAX_WARNINGS);
};

const warning = (what: string, { path, known }: UnknownMember): string => {
  const nearest = nearestName(String(path.at(-1)), known);
  const meant = nearest === undefined ? '' : `; did you mean "${pathText([...path.slice(0, -1), nearest])}"?`;
  return `unknown ${what} "${pathText(path)}"${meant}`;
};
