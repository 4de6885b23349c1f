/** Sends requests as a browser at the provider does, with its cookies, until it is led elsewhere. */
export const signInAtProvider = async (
  address: string,
  issuer: string,
  form: Readonly<Record<string, string>>,
): Promise<string> => {
  const cookies = new Map<string, string>();
  let url = new URL(address);
  let body: URLSearchParams | undefined;
  for (let step = 0; step < 10; step += 1) {
    if (url.origin !== new URL(issuer).origin) return url.href;
    const response: Response = await fetch(url, {
      method: body ? 'POST' : 'GET',
      redirect: 'manual',
      headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
      ...(body ? { body } : {}),
    });
    for (const set of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
      cookies.set(name, value);
    }
    const location = response.headers.get('location');
    body = location === null ? new URLSearchParams(form) : undefined;
    if (location !== null) url = new URL(location, url);
    else if (response.status !== 200)
      throw new Error(`The provider answered ${response.status}: ${await response.text()}`);
  }
  throw new Error('The provider leads nowhere.');
};
