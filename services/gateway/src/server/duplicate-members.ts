/** A name or another string, which is told by its colon, or what gives JSON its structure. */
const TOKEN = /("(?:[^"\\]+|\\.)*")(\s*:)?|[[\]{},]/g;

/** An object or array that is not closed yet. */
interface Level {
  /** Of an object. */
  readonly names: Set<string> | undefined;
  /** The name or the index of what comes now. */
  at: string | number;
}

/** The path of the first member whose object has one of that name already; undefined when there is none. The JSON must be valid. */
export const duplicateMember = (json: string): readonly (string | number)[] | undefined => {
  const levels: Level[] = [];
  for (const [token, text, colon] of json.matchAll(TOKEN)) {
    const level = levels.at(-1);
    if (text !== undefined) {
      if (colon === undefined || !level?.names) continue;
      const name = nameOf(text);
      level.at = name;
      if (level.names.has(name)) return levels.map(({ at }) => at);
      level.names.add(name);
    } else if (token === '{') levels.push({ names: new Set(), at: '' });
    else if (token === '[') levels.push({ names: undefined, at: 0 });
    else if (token !== ',') levels.pop();
    else if (typeof level?.at === 'number') level.at += 1;
  }
  return undefined;
};

const nameOf = (text: string): string => (text.includes('\\') ? String(JSON.parse(text)) : text.slice(1, -1));
