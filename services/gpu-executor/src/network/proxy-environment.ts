const LOOPBACK = 'localhost,127.0.0.1,::1,[::1]';

/** How programs find the proxy on their loopback. Most libraries read one spelling or the other; Node wants to be told that it may. */
export const proxyEnvironment = (port: number): Record<string, string> => {
  const proxy = `http://127.0.0.1:${port}`;
  const names = { HTTP_PROXY: proxy, HTTPS_PROXY: proxy, ALL_PROXY: proxy, NO_PROXY: LOOPBACK };
  const lowerCase = Object.entries(names).map(([name, value]) => [name.toLowerCase(), value]);
  return { ...names, ...Object.fromEntries(lowerCase), NODE_USE_ENV_PROXY: '1' };
};
