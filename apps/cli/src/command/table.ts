import { meaningOf, type Screen } from './screen.ts';
import { plain, shorten } from './command-error.ts';

/** What a text is, if not just words: a person reads a time relative to now, and a status in a colour. */
type Kind = 'time' | 'status';

/** A column of a list. Widths are fixed, because a list is printed page by page. The last column needs none. */
export interface Column<Item> {
  readonly title: string;
  readonly width: number;
  readonly of: (item: Item) => string | null;
  readonly is?: Kind;
}

/** `most`: in characters, by default as many as there are. */
export const headLine = (screen: Screen, columns: readonly Column<never>[], most = Infinity): string =>
  screen.colour(
    'head',
    aligned(
      columns.map((column) => [column.title, widthIn(screen, column), undefined]),
      most,
    ),
  );

export const rowLine = <Item>(
  screen: Screen,
  columns: readonly Column<Item>[],
  item: Item,
  most = Infinity,
): string =>
  aligned(
    columns.map((column) => {
      const text = plain(column.of(item) ?? '-');
      const shown = column.is === 'time' ? screen.time(text) : text;
      return [shown, widthIn(screen, column), column.is === 'status' ? screen.colour : undefined];
    }),
    most,
  );

/** The longest relative time, such as `59 minutes ago`. */
const RELATIVE_WIDTH = 14;

const widthIn = ({ isTerminal }: Screen, { width, is }: Column<never>): number =>
  is === 'time' && isTerminal ? Math.min(width, RELATIVE_WIDTH) : width;

type Cell = readonly [text: string, width: number, colour: Screen['colour'] | undefined];

/** Ends where there is no more room. The codes of a colour have no width. */
const aligned = (cells: readonly Cell[], most: number): string => {
  let [line, left] = ['', most];
  for (const [text, width, colour] of cells) {
    const shown = shorten(text, left);
    line += colour?.(meaningOf(text), shown) ?? shown;
    if (shown !== text) break;
    const space = Math.max(0, width - text.length) + '  '.length;
    left -= text.length + space;
    if (left <= 0) break;
    line += ' '.repeat(space);
  }
  return line.trimEnd();
};

/** How a list prints items of these columns. */
export const inColumns = <Item>(
  screen: Screen,
  columns: readonly Column<Item>[],
): { readonly head: string; readonly line: (item: Item) => string } => ({
  head: headLine(screen, columns),
  line: (item: Item): string => rowLine(screen, columns, item),
});

/** All rows below their head; nothing without rows. */
export const tableLines = <Item>(
  screen: Screen,
  columns: readonly Column<Item>[],
  items: readonly Item[],
): string[] => {
  const { head, line } = inColumns(screen, columns);
  return items.length === 0 ? [] : [head, ...items.map(line)];
};

/** Prints all rows below their head, or each as JSON. */
export const printTable = <Item>(
  screen: Screen,
  columns: readonly Column<Item>[],
  items: readonly Item[],
): void => {
  if (screen.isJson()) for (const item of items) screen.printJson(item);
  else for (const line of tableLines(screen, columns, items)) screen.print(line);
};

/** One row for each member of an object. Members that are null are left out. */
export type Rows = readonly (readonly [name: string, value: string | null, is?: Kind])[];

export const rowLines = (screen: Screen, rows: Rows): string[] => {
  const known = rows.filter(([, value]) => value !== null);
  const width = Math.max(...known.map(([name]) => name.length));
  return known.map(
    ([name, value, is]) => `${name.padEnd(width)}  ${shownValue(screen, plain(value ?? ''), is)}`,
  );
};

/** There is room for the time itself too. */
const shownValue = ({ time, colour }: Screen, text: string, is: Kind | undefined): string => {
  if (is === 'status') return colour(meaningOf(text), text);
  const relative = is === 'time' ? time(text) : text;
  return relative === text ? text : `${relative} (${text})`;
};
