import { numberedFileName, safeFileName } from '@runledger/contracts/file-name';

/** Gives the files of a run their names in the input folder: safe on every system, and each another one, also where case does not count. */
export const inputNames = (): ((text: string, contentType: string) => string) => {
  const taken = new Set<string>();
  const take = (name: string): string | undefined => {
    const key = name.toLowerCase();
    if (taken.has(key)) return undefined;
    taken.add(key);
    return name;
  };
  return (text, contentType) => {
    const name = safeFileName(text, contentType);
    let taking = take(name);
    for (let number = 2; taking === undefined; number += 1) taking = take(numberedFileName(name, number));
    return taking;
  };
};

const EXTENDED = /filename\*=utf-8''([^;\s]+)/i;
const PLAIN = /filename="?([^";]+)"?/i;

/** The name in a header `Content-Disposition`; empty without one. */
export const nameInDisposition = (header: string | undefined): string => {
  if (header === undefined) return '';
  const extended = EXTENDED.exec(header)?.[1];
  if (extended === undefined) return PLAIN.exec(header)?.[1] ?? '';
  try {
    return decodeURIComponent(extended);
  } catch {
    return '';
  }
};

/** The last part of the path of a URL. */
export const nameInUrl = ({ pathname }: URL): string => {
  const last = pathname.split('/').at(-1) ?? '';
  try {
    return decodeURIComponent(last);
  } catch {
    return last;
  }
};
