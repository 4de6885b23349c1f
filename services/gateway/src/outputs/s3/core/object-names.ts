import { isOutputKey } from '../../store/output-store.ts';

/**
 * `<prefix><key>/content` has a file, `<prefix><key>/description` what is known of it. The description is stored last and removed first:
 * with it the file exists. In a list the content of a file comes just before its description.
 */
export const contentOf = (prefix: string, key: string): string => `${prefix}${key}/content`;
export const descriptionOf = (prefix: string, key: string): string => `${prefix}${key}/description`;

/** Undefined for a name that is none of these. */
export const parsedName = (
  prefix: string,
  name: string,
): { readonly key: string; readonly part: 'content' | 'description' } | undefined => {
  if (!name.startsWith(prefix)) return undefined;
  const [key = '', part, ...rest] = name.slice(prefix.length).split('/');
  if (!isOutputKey(key) || rest.length > 0 || (part !== 'content' && part !== 'description'))
    return undefined;
  return { key, part };
};
