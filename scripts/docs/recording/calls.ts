/** A standalone that records. */
export interface Api {
  readonly url: string;
  readonly key: string;
}

interface Calls {
  /** The text of the answer to a GET, or to a POST of the body. @throws Error when it is refused */
  readonly call: (path: string, body?: object) => Promise<string>;
  /** The id of what the POST made. @throws Error when it is refused */
  readonly made: (path: string, body: object) => Promise<string>;
}

export const callsOf = ({ url, key }: Api): Calls => {
  const call = async (path: string, body?: object): Promise<string> => {
    const response = await fetch(`${url}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: body === undefined ? null : JSON.stringify(body),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${text}`);
    return text;
  };
  return { call, made: async (path, body) => idIn(await call(path, body)) };
};

const idIn = (answer: string): string => {
  const found = /"(?:id|run_id)":"([^"]+)"/.exec(answer)?.[1];
  if (found === undefined) throw new Error(`There is no id in ${answer}`);
  return found;
};
