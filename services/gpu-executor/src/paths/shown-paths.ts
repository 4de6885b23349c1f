import { isWithin } from './real-paths.ts';
import { wayTo, type Link, type Way } from './way-to.ts';

/** What makes paths lead where they lead on the machine. All of it is real; only the links lead elsewhere. */
export interface ShownPaths {
  /** None is below another one of these, or of the writable ones. */
  readonly readable: readonly string[];
  readonly writable: readonly string[];
  /** Those that are in none of them. */
  readonly links: readonly Link[];
  /** Folders that must be there, with nothing in them: a link leads through them. */
  readonly crossed: readonly string[];
}

/** `isThere` says what is shown anyway. What does not exist is left out. */
export const shownPaths = (
  named: { readonly readable: readonly string[]; readonly writable: readonly string[] },
  isThere: (path: string) => boolean = () => false,
): ShownPaths => {
  const [toRead, toWrite] = [waysTo(named.readable), waysTo(named.writable)];
  const writable = [...new Set(toWrite.map(({ real }) => real))];
  const wanted = [...new Set(toRead.map(({ real }) => real))].filter(
    (path) => !isThere(path) && !isWithin(writable, path),
  );
  const readable = wanted.filter(
    (path) =>
      !isWithin(
        wanted.filter((other) => other !== path),
        path,
      ),
  );
  const isAbsent = (path: string): boolean => !isThere(path) && !isWithin([...readable, ...writable], path);
  const ways = [...toRead, ...toWrite];
  const links = new Map(ways.flatMap((way) => way.links.map((link) => [link.path, link] as const)));
  return {
    readable,
    writable,
    links: [...links.values()].filter(({ path }) => isAbsent(path)),
    crossed: [...new Set(ways.flatMap(({ crossed }) => crossed))].filter(isAbsent),
  };
};

const waysTo = (paths: readonly string[]): readonly Way[] =>
  [...new Set(paths)].map(wayTo).filter((way) => way !== null);
