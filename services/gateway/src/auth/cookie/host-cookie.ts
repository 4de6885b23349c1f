import type { Context } from 'koa';

/** A cookie of this host that no script reads, and that other sites send only when they lead a browser here. */
export interface HostCookie {
  /** Undefined for a request without it. */
  read(ctx: Context): string | undefined;
  write(ctx: Context, text: string, expires: Date): void;
  clear(ctx: Context): void;
}

/** `publicUrl`: the setting; undefined without one, when clients use http. */
export const hostCookie = (plainName: string, publicUrl: string | undefined): HostCookie => {
  const isSecure = URL.parse(publicUrl ?? '')?.protocol === 'https:';
  // Browsers take the prefix as a promise that this host set the cookie, over https, for all its paths.
  const name = isSecure ? `__Host-${plainName}` : plainName;
  const write: HostCookie['write'] = (ctx, text, expires) =>
    ctx.append(
      'Set-Cookie',
      `${name}=${text}; Path=/; Expires=${expires.toUTCString()}; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`,
    );
  return {
    read: (ctx) => {
      const text = ctx.cookies.get(name);
      return text === '' ? undefined : text;
    },
    write,
    clear: (ctx) => write(ctx, '', new Date(0)),
  };
};
