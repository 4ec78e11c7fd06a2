"""The six families of procedural clips: render_*(draw, view) gives an image in [0,1], [3,B,T,H,W]."""
import torch

from drawing import (FONT, Floor, Sky, camera, cover, dot, fbm, glyph, lattice, mix, palette, rotation, smooth, text,
                     tonemap, turn, unit, vec, wave)


# ---- family 1: ray-marched smooth unions ---------------------------------------------


class Blobs:
    """Five moving primitives, smoothly joined: two spheres, two tori and a rounded box."""

    KINDS = ("sphere", "torus", "box", "sphere", "torus")

    def __init__(self, d, t):
        self.k = d("k", 0.08, 0.55)
        self.parts = []
        for n, kind in enumerate(self.KINDS):
            w1, w2, ph = d(f"w1{n}", 0.4, 1.6), d(f"w2{n}", 0.5, 2.2), d(f"ph{n}", 0, 6.28)
            rad = d(f"rad{n}", 0.2, 1.5)
            size = d(f"size{n}", 0.3, 0.62)
            centre = vec(rad * torch.cos(w1 * t + ph),
                         d(f"y{n}", 0.6, 1.5) + 0.35 * torch.sin(w2 * t + ph * 2),
                         rad * torch.sin(w1 * t + ph))
            rows = rotation(d(f"ra{n}", -1.5, 1.5) * t + ph, d(f"rb{n}", -1.5, 1.5) * t - ph)
            look = dict(a=d.colour(f"ca{n}"), b=d.colour(f"cb{n}"), kind=d.pick(f"pat{n}", 5),
                        freq=d.log(f"freq{n}", 4, 22))
            thick = d(f"thick{n}", 0.22, 0.4)
            self.parts.append((kind, centre, rows, size, thick, look))

    def flat(self):
        """The numbers the distance function needs, as a flat list of tensors."""
        out = [self.k]
        for _, centre, rows, size, thick, _ in self.parts:
            out += [centre, *rows, size, thick]
        return out


def part_distance(kind, q, size, thick):
    if kind == "sphere":
        return dot(q, q).clamp_min(1e-9).sqrt() - size * 0.9
    if kind == "torus":
        ring = (q[0] * q[0] + q[2] * q[2]).clamp_min(1e-9).sqrt() - size
        return (ring * ring + q[1] * q[1]).clamp_min(1e-9).sqrt() - size * thick
    e = q.abs() - size * 0.62
    out = e.clamp_min(0)
    return dot(out, out).clamp_min(1e-12).sqrt() + torch.maximum(torch.maximum(e[0], e[1]),
                                                                 e[2]).clamp_max(0) - size * 0.18


def blob_distance(p, *flat):
    k, rest, d = flat[0], flat[1:], None
    for n, kind in enumerate(Blobs.KINDS):
        centre, r0, r1, r2, size, thick = rest[6 * n:6 * n + 6]
        e = part_distance(kind, turn((r0, r1, r2), p - centre), size, thick)
        if d is None:
            d = e
        else:
            h = (0.5 + 0.5 * (e - d) / k).clamp(0, 1)
            d = mix(e, d, h) - k * h * (1 - h)
    return d


def blob_albedo(p, blobs, step):
    colour, d = None, None
    for kind, centre, rows, size, thick, look in blobs.parts:
        q = turn(rows, p - centre)
        e = part_distance(kind, q, size, thick)
        f = look["freq"]
        st = step * f
        stripes = wave(q[1] * f * 1.4, st * 1.4)
        checker = wave(q[0] * f, st) * wave(q[1] * f, st) * wave(q[2] * f, st)
        marble = torch.sin(f * 0.8 * (q[0] + 0.5 * torch.sin(3 * q[1] + 2 * torch.sin(4 * q[2]))))
        dots = ((torch.sin(q[0] * f) + torch.sin(q[1] * f) + torch.sin(q[2] * f) - 1.1)
                / st.clamp_min(0.05)).clamp(-1, 1)
        kd = look["kind"]
        m = stripes * (kd == 1) + checker * (kd == 2) + marble * (kd == 3) + dots * (kd == 4) \
            + (kd == 0) * 1.0
        c = mix(look["b"], look["a"], 0.5 + 0.5 * m)
        if d is None:
            colour, d = c, e
        else:
            h = (0.5 + 0.5 * (e - d) / blobs.k).clamp(0, 1)
            colour = mix(c, colour, h)
            d = mix(e, d, h) - blobs.k * h * (1 - h)
    return colour


distance_fn = blob_distance             # replaced by a compiled version for training


def render_blobs(d, view):
    t = view.t
    blobs, sky, floor = Blobs(d, t), Sky(d), Floor(d)
    args = blobs.flat()
    ang = d("cam_a", 0, 6.28) + d("cam_w", -0.7, 0.7) * t
    r = d("cam_r", 3.2, 6.0)
    eye = vec(r * torch.cos(ang), d("cam_y", 0.9, 3.0) + 0.2 * torch.sin(0.7 * t),
              r * torch.sin(ang))
    target = vec(0 * t, d("look_y", 0.6, 1.1) + 0 * t, 0 * t)
    focal = d("focal", 1.5, 2.6)
    rd = camera(view, eye, target, focal, d("roll", -0.15, 0.15))
    px = view.px / focal

    far = 14.0
    dist = torch.zeros_like(rd[0]) + 1.0
    near = dist
    for _ in range(44):
        near = distance_fn(eye + rd * dist, *args)
        dist = (dist + near * 0.95).clamp_max(far)
    hit = (near < 0.006 * dist) & (dist < far - 0.1)

    down = rd[1] < -1e-3
    to_floor = torch.where(down, -eye[1] / rd[1].clamp_max(-1e-3), torch.full_like(dist, 1e4))
    on_blob = hit & (dist < to_floor)
    t_hit = torch.where(on_blob, dist, to_floor).clamp_max(60.0)
    p = eye + rd * t_hit

    e = 0.004
    n = 0
    for s in ((1, -1, -1), (-1, -1, 1), (-1, 1, -1), (1, 1, 1)):
        o = torch.tensor(s, dtype=p.dtype, device=p.device).view(3, 1, 1, 1, 1)
        n = n + o * distance_fn(p + o * e, *args)
    up = torch.tensor([0.0, 1, 0], device=p.device).view(3, 1, 1, 1, 1)
    n = torch.where(on_blob, unit(n), up)

    step = px * t_hit
    grazing = 1 / rd[1].abs().clamp_min(0.05)
    albedo = torch.where(on_blob, blob_albedo(p, blobs, step),
                         floor.albedo(p, step * grazing.clamp_max(6)))
    start = p + n * 0.02
    shadow, s = torch.ones_like(dist), torch.full_like(dist, 0.03)
    for _ in range(16):
        h = distance_fn(start + sky.sun * s, *args)
        shadow = torch.minimum(shadow, 9 * h / s)
        s = (s + h.clamp(0.03, 0.35)).clamp_max(6)
    shadow = smooth(shadow.clamp(0, 1))
    occ = (distance_fn(p + n * 0.18, *args) / 0.18).clamp(0, 1) * 0.5 \
        + (distance_fn(p + n * 0.5, *args) / 0.5).clamp(0, 1) * 0.5
    occ = 0.35 + 0.65 * occ
    lam = dot(n, sky.sun).clamp_min(0) * shadow
    half = unit(sky.sun - rd)
    gloss = d("gloss", 0.0, 0.9)
    spec = dot(n, half).clamp_min(0) ** 60 * shadow * gloss * on_blob
    mirror = rd - n * 2 * dot(n, rd)
    fres = (1 - dot(n, -rd).clamp(0, 1)) ** 4 * 0.5 * gloss * occ
    ambient = mix(sky.horizon, sky.zenith, 0.5 + 0.5 * n[1]) * 0.42 * occ
    c = albedo * (ambient + sky.light * lam * 1.3) + sky.light * spec + sky(mirror) * fres
    back = sky(rd)
    fog = 1 - torch.exp(-(t_hit / d("fog", 9, 22)) ** 2)
    c = mix(c, back, fog * (~on_blob | (t_hit > 6)))
    return tonemap(torch.where(on_blob | down, c, back))


# ---- family 2: bouncing balls, ray-traced, with letters and one reflection -----------


def render_balls(d, view):
    t = view.t
    sky, floor = Sky(d), Floor(d)
    balls = []
    for n in range(8):
        r = d(f"r{n}", 0.25, 0.6)
        period, ph = d(f"per{n}", 0.7, 1.5), d(f"ph{n}", 0, 1)
        hop = (t / period + ph) % 1
        lane = d(f"x{n}", -2.2, 2.2) + 0.5 * torch.sin(d(f"wx{n}", 0.2, 1.0) * t + ph * 6)
        deep = d(f"z{n}", -2.2, 1.4) + 0.4 * torch.sin(d(f"wz{n}", 0.2, 1.0) * t + ph * 9)
        centre = vec(lane, r + d(f"hop{n}", 0.2, 1.7) * 4 * hop * (1 - hop), deep)
        rows = rotation(d(f"sa{n}", -2, 2) * t + ph * 6, d(f"sb{n}", -2, 2) * t + ph * 3)
        balls.append((centre, r, rows, d.colour(f"ca{n}"), d.colour(f"cb{n}"),
                      d.pick(f"glyph{n}", len(FONT)), d.pick(f"pat{n}", 4)))

    ang = d("cam_a", -0.8, 0.8) + d("cam_w", -0.35, 0.35) * t
    ang = 1.2 * torch.sin(ang)
    r = d("cam_r", 4.5, 7)
    eye = vec(r * torch.sin(ang), d("cam_y", 0.7, 2.6) + 0 * t, r * torch.cos(ang))
    focal = d("focal", 1.5, 2.6)
    rd = camera(view, eye, vec(0 * t, d("look_y", 0.5, 1.0) + 0 * t, 0 * t - 0.2), focal,
                d("roll", -0.1, 0.1))
    px = view.px / focal
    fog_far = d("fog", 9, 20)
    up = torch.tensor([0.0, 1, 0], device=rd.device).view(3, 1, 1, 1, 1)

    def trace(o, v, travelled):
        """Nearest hit of the rays o + s v: its distance, normal, albedo and kind."""
        best = torch.where(v[1] < -1e-3, -o[1] / v[1].clamp_max(-1e-3),
                           torch.full_like(v[0], 1e4))
        best = torch.where(best > 1e-3, best, torch.full_like(best, 1e4))
        ground = torch.ones_like(best, dtype=torch.bool)
        q_n, q, ca, cb = up.expand_as(v), torch.zeros_like(v), v * 0, v * 0
        which = kind = torch.zeros_like(best, dtype=torch.long)
        rad = torch.ones_like(best)
        for centre, radius, rows, a, b, g, pat in balls:
            oc = o - centre
            half_b = dot(oc, v)
            disc = half_b * half_b - dot(oc, oc) + radius * radius
            s = -half_b - disc.clamp_min(0).sqrt()
            win = (disc > 0) & (s > 1e-3) & (s < best)
            best = torch.where(win, s, best)
            n = (oc + v * s) / radius
            q_n = torch.where(win, n, q_n)
            q = torch.where(win, turn(rows, n), q)
            ca, cb = torch.where(win, a, ca), torch.where(win, b, cb)
            which, kind = torch.where(win, g, which), torch.where(win, pat, kind)
            rad = torch.where(win, radius, rad)
            ground = ground & ~win
        p = o + v * best.clamp_max(60)
        step = px * (travelled + best).clamp_max(60)
        # ball skin: bands, a beach-ball pattern, or a ring of letters
        lon, lat = torch.atan2(q[2], q[0]), torch.asin(q[1].clamp(-0.999, 0.999))
        sst = step / rad / q[1].square().mul(-1).add(1).clamp_min(0.04).sqrt()
        sst = sst / dot(q_n, -v).clamp_min(0.15)
        wedge = wave(lon * 4, sst * 4)
        bands = wave(lat * 7 + 0.5, sst * 7)
        gx, gy = (0.5 - lon / 6.2832) * 8, 0.56 - lat / 1.05
        ink = glyph(which, gx % 1, gy.clamp(0, 0.999), sst * 1.2) \
            * (gy > 0.01) * (gy < 0.99) * (gx.floor().long() % 2 == 0)
        m = 1 - 2 * ink
        m = torch.where(kind == 1, wedge, torch.where(kind == 2, bands, m))
        ring = cover(lat.abs() - 0.68, sst) * 2 - 1
        m = torch.where(kind == 3, torch.minimum(ring * (1 - 2 * ink), ring), m)
        skin = mix(cb, ca, 0.5 + 0.5 * m)
        graze = (1 / v[1].abs().clamp_min(0.05)).clamp_max(6)
        albedo = torch.where(ground, floor.albedo(p, step * graze), skin)
        return best, p, q_n, albedo, ground

    def shade(o, v, travelled):
        s, p, n, albedo, ground = trace(o, v, travelled)
        lit, occ = torch.ones_like(s), torch.ones_like(s)
        for centre, radius, *_ in balls:
            to = centre - p
            along = dot(to, sky.sun)
            off = (dot(to, to) - along * along).clamp_min(1e-9).sqrt() - radius
            lit = torch.minimum(lit, torch.where(
                along > radius * 0.3,
                smooth(off / along.clamp_min(0.1), 0.0, 0.16), torch.ones_like(lit)))
            gap = dot(to, to).clamp_min(1e-6)
            occ = occ * (1 - (radius * radius / gap) * (dot(n, to) * gap.rsqrt()).clamp(0, 1)
                         * 0.8).clamp(0.2, 1)
        lam = dot(n, sky.sun).clamp_min(0) * lit
        spec = dot(n, unit(sky.sun - v)).clamp_min(0) ** 90 * lit * ~ground
        amb = mix(sky.horizon, sky.zenith, 0.5 + 0.5 * n[1]) * 0.42 * occ
        c = albedo * (amb + sky.light * lam * 1.3) + sky.light * spec * 0.8
        sky_hit = s > 1e3
        fog = 1 - torch.exp(-((travelled + s).clamp_max(60) / fog_far) ** 2)
        c = torch.where(sky_hit, sky(v), mix(c, sky(v), fog * ground))
        return c, p, n, ground, sky_hit, s

    zero = torch.zeros_like(rd[0])
    c, p, n, ground, is_sky, s = shade(eye.expand_as(rd), rd, zero)
    bounce = rd - n * 2 * dot(n, rd)
    fres = 0.06 + 0.6 * (1 - dot(n, -rd).clamp(0, 1)) ** 4
    strength = torch.where(ground, d("floor_shine", 0.0, 0.6) * fres, fres) * ~is_sky
    c2 = shade(p + n * 2e-3, bounce, s.clamp_max(60))[0]
    fade = torch.exp(-(s.clamp_max(60) / 12) ** 2)
    return tonemap(c + c2 * strength * fade)


# ---- family 3: a winding panelled tunnel ----------------------------------------------


def render_tunnel(d, view):
    t = view.t
    z0 = t * d("fly", 1.5, 4.0)
    bend, f1, f2 = d("bend", 0.1, 0.6), d("f1", 0.15, 0.45), d("f2", 0.15, 0.45)
    spin = d("spin", -0.25, 0.25)

    def axis(z):
        return bend * torch.sin(f1 * z) + 0.3 * bend * torch.sin(2.3 * f2 * z), \
            bend * torch.cos(f2 * z)

    focal = d("focal", 0.8, 1.4)
    roll = d("roll_w", -0.4, 0.4) * t
    c, s = torch.cos(roll), torch.sin(roll)
    u, v = c * view.u - s * view.v, s * view.u + c * view.v
    ax, ay = axis(z0)
    bx, by = axis(z0 + 2.5)
    rd = unit(vec(u + focal * (bx - ax) / 2.5, v + focal * (by - ay) / 2.5, focal + 0 * u))
    px = view.px / focal
    power = d.pick("square", 3) * 2 + 2.0                # cross-section: circle .. squarish
    dist = torch.zeros_like(rd[0])
    for _ in range(36):
        z = z0 + rd[2] * dist
        cx, cy = axis(z)
        x, y = ax + rd[0] * dist - cx, ay + rd[1] * dist - cy
        rho = (x.abs() ** power + y.abs() ** power + 1e-9) ** (1 / power)
        dist = (dist + (1 - rho) * 0.85).clamp_max(40.0)
    lon = torch.atan2(y, x) + spin * z
    cells = (d.pick("around", 4) * 4 + 8).to(z.dtype)
    length = d("length", 0.5, 1.3)
    row = z / length
    a = lon / 6.2832 * cells + (row.floor() % 2) * 0.5 * d.pick("brick", 2)
    ia, iz = a.floor() % cells, row.floor()
    fa, fz = a - a.floor() - 0.5, row - iz - 0.5
    st_a = px * dist * cells / 6.2832
    st_z = px * dist / length / (1 - rd[2] * rd[2]).clamp_min(0.02).sqrt()
    st = torch.maximum(st_a, st_z)
    soften = 1 / (1 + (st * 2.2) ** 2)
    edge = torch.maximum(fa.abs() - 0.45, fz.abs() - 0.46)
    panel = cover(edge, torch.maximum(st_a, st_z) * 0.8 + 0.004)
    salt = d.pick("salt", 200)
    h1, h2 = lattice(ia + salt, iz), lattice(ia + 37 - salt, iz + 91)
    base, accent = d.colour("base", (0.1, 0.8), (0.25, 0.8)), d.colour("accent", (0.5, 1), (0.6, 1))
    third = d.colour("third", (0.4, 1), (0.5, 1))
    gap = d.colour("gap", (0.2, 1), (0.02, 0.25))
    tone = mix(base * 0.55, base * 1.15, h1)
    tone = torch.where(h2 > d("rare", 0.75, 0.93), accent, tone)
    stripe = wave((fa + fz) * 30, (st_a + st_z) * 30) * 0.5 + 0.5
    tone = torch.where((h2 < 0.08), mix(tone * 0.5, third, stripe), tone)
    ink = glyph((h1 * len(FONT)).long().clamp_max(len(FONT) - 1), (fa * 1.25 + 0.5).clamp(0, 0.999),
                (0.5 - fz * 1.25).clamp(0, 0.999), st * 1.25)
    ink = ink * (fa.abs() < 0.38) * (fz.abs() < 0.38) * ((h2 > 0.3) & (h2 < 0.3 + d("letters", 0, 0.5)))
    tone = mix(tone, third, ink * 0.9)
    mean = base * 0.75
    c = mix(mean * 0.8, mix(gap, tone, panel), soften)
    bevel = 0.75 + 0.5 * smooth(-edge, 0.0, 0.12) * soften
    lamp = (0.5 + 0.5 * torch.cos(6.2832 * (z / (length * 6) - t * d("pulse", -0.6, 0.6)))) ** 6
    strip = cover((torch.sin(lon * d.pick("strips", 3).add(1))).abs() - 0.06, st_a * 0.6 + 0.01)
    glow = d.colour("glow", (0.3, 0.9), (0.8, 1))
    light = 0.25 + 1.1 * torch.exp(-dist * 0.22) + lamp * 0.6
    c = c * light * bevel + accent * strip * (0.35 + 0.8 * lamp) * soften
    fog = 1 - torch.exp(-dist * d("murk", 0.06, 0.16))
    return tonemap(mix(c, glow * 0.9, fog))


# ---- family 4: flat moving shapes and lettering ---------------------------------------


def render_flat(d, view):
    t, u, v, px = view.t, view.u, view.v, view.px
    ca, cb = d.colour("bg_a", (0, 0.8), (0.1, 1)), d.colour("bg_b", (0, 0.8), (0.1, 1))
    ang = d("bg_ang", 0, 6.28) + d("bg_w", -0.3, 0.3) * t
    c, s = torch.cos(ang), torch.sin(ang)
    x, y = c * u - s * v, s * u + c * v
    c_img = mix(ca, cb, smooth(x, -1.5, 1.5))
    f = d.log("bg_f", 4, 26)
    kind = d.pick("bg_kind", 5)
    sx, sy = x + 0.2 * t * d("bg_v", -1, 1), y + 0 * t
    pat = wave(sx * f, px * f) * (kind == 1) + wave(sx * f, px * f) * wave(sy * f, px * f) * (kind == 2) \
        + ((torch.cos(sx * f) * torch.cos(sy * f) - 0.5) / (px * f)).clamp(-1, 1) * (kind == 3)
    ink = text(sx * f / 4, sy * f / 4, d.pick("bg_salt", 99), px * f / 4) * 2.0 - 1
    pat = pat + ink * (kind == 4)
    c_img = mix(c_img, d.colour("bg_ink"), (0.5 + 0.5 * pat) * (kind > 0) * d("bg_mix", 0.15, 0.9))
    for n in range(9):
        w, h = d(f"px{n}", 0, 1), d(f"py{n}", 0, 1)

        def tri(p, span):                                # bounces between -span and span
            return span * (4 * ((p % 1) - 0.5).abs() - 1)

        x0 = tri(d(f"vx{n}", -0.25, 0.25) * t + w, 1.5)
        hop = (d(f"vy{n}", 0.2, 0.7) * t + h) % 1
        y0 = -0.8 + d(f"h{n}", 0.3, 1.6) * 4 * hop * (1 - hop)
        r = d(f"r{n}", 0.1, 0.4)
        a = d(f"spin{n}", -2, 2) * t
        c, s = torch.cos(a), torch.sin(a)
        qx, qy = u - x0, v - y0
        disc = (qx * qx + qy * qy).clamp_min(1e-9).sqrt() - r
        bx, by = c * qx - s * qy, s * qx + c * qy
        box = torch.maximum(bx.abs(), by.abs()) - r * 0.85
        shape = torch.where(d.pick(f"shape{n}", 3) == 0, box, disc)
        c_img = c_img * (1 - 0.45 * smooth(-shape - 0.03, -0.06, 0.06))
        fill, dark = d.colour(f"fa{n}"), d.colour(f"fb{n}")
        g = 1.0 / (r * 1.5)
        letter = glyph(d.pick(f"g{n}", len(FONT)), (bx * g + 0.58).clamp(0, 0.999),
                       (0.55 - by * g).clamp(0, 0.999), px * g)
        letter = letter * ((bx * g + 0.08).abs() < 0.5) * ((by * g - 0.05).abs() < 0.49)
        rings = wave(disc * d(f"rings{n}", 20, 70), px * 45) * 0.5 + 0.5
        pick = d.pick(f"pat{n}", 3)
        paint = mix(fill, dark, letter * (pick == 0) + rings * (pick == 1))
        shine = 0.75 + 0.35 * smooth((qy * 0.7 - qx * 0.5) / r, -1.0, 1.0)
        c_img = mix(c_img, paint * shine, cover(shape, px))
    # a strip of scrolling text
    on = d.pick("strip", 2)
    size = d("strip_h", 0.12, 0.3)
    y = (v - d("strip_y", -0.8, 0.8)) / size
    x = u / size + d("strip_v", -4, 4) * t
    ink = text(x * 1.25, 0.5 - y * 0.9, d.pick("strip_salt", 99), px / size) * (y.abs() < 0.5)
    plate = cover((y.abs() - 0.6) * size, px) * on
    c_img = mix(c_img, d.colour("plate", (0, 0.8), (0.02, 0.5)), plate * 0.85)
    return mix(c_img, d.colour("ink", (0, 0.6), (0.7, 1)), ink * on).clamp(0, 1)


# ---- family 5: drifting, warped noise --------------------------------------------------


def render_noise(d, view):
    t = view.t
    f = d.log("freq", 0.8, 4)
    ang = d("ang", 0, 6.28) + d("w", -0.2, 0.2) * t
    c, s = torch.cos(ang), torch.sin(ang)
    x = (c * view.u - s * view.v) * f + d("vx", -1, 1) * t + 40 * d("ox", 0, 4)
    y = (s * view.u + c * view.v) * f + d("vy", -1, 1) * t + 40 * d("oy", 0, 4)
    warp = d("warp", 0.0, 2.0)
    wx = fbm(x + 0.3 * t, y, 3)
    wy = fbm(x + 51, y - 0.2 * t, 3)
    n = fbm(x + warp * wx, y + warp * wy, 5, 0.48)
    amp = d("contrast", 0.6, 1.6)
    c1 = palette(n * amp + 0.02 * t, d.colour("pb", (0, 0.5), (0.4, 0.7)),
                 d.colour("pa", (0, 0.5), (0.2, 0.5)), d("pf", 0.6, 2.2), d.colour("ps"))
    edges = wave(n * 6.2832 * d("lines", 3, 9), (view.px * f * 14).clamp_min(0.25)) * 0.5 + 0.5
    return mix(c1, mix(c1, d.colour("line"), edges), d("line_mix", 0, 0.8)).clamp(0, 1)


# ---- family 6: fractal zooms and kaleidoscopes -----------------------------------------


def render_fractal(d, view):
    t = view.t
    zoom = torch.exp(0.45 * torch.sin(d("zw", 0.2, 0.8) * t)) * d("scale", 0.5, 1.3)
    ang = d("rot", -0.4, 0.4) * t
    c, s = torch.cos(ang), torch.sin(ang)
    x = (c * view.u - s * view.v) * zoom + d("cx", -0.4, 0.4)
    y = (s * view.u + c * view.v) * zoom + d("cy", -0.4, 0.4)
    th = d("th", 0, 6.28) + d("thw", -0.12, 0.12) * t
    rc = d("rc", 0.68, 0.8)
    kx, ky = rc * torch.cos(th), rc * torch.sin(th)
    # a Julia set, coloured by smooth escape time and an orbit trap
    zx, zy = x, y
    count, trap = torch.zeros_like(x + kx), torch.full_like(x + kx, 1e3)
    for _ in range(22):
        zx, zy = (zx * zx - zy * zy + kx).clamp(-40, 40), (2 * zx * zy + ky).clamp(-40, 40)
        m = zx * zx + zy * zy
        count = count + torch.exp(-m * 0.5)
        trap = torch.minimum(trap, (zx * 0.7 + zy).abs() + 0.2 * (m - 0.6).abs())
    julia = palette(count * d("jf", 0.02, 0.07) + 0.05 * t, d.colour("jb", (0, 0.5), (0.4, 0.7)),
                    d.colour("ja", (0, 0.6), (0.25, 0.5)), 1.0, d.colour("js"))
    julia = mix(julia, d.colour("jt"), torch.exp(-trap * d("jtf", 4, 14)) * 0.8)
    # a kaleidoscope of stripes and checks
    n = (d.pick("folds", 5) + 3).to(x.dtype)
    r, a = (x * x + y * y).clamp_min(1e-9).sqrt(), torch.atan2(y, x)
    a = ((a / 3.14159 * n) % 2 - 1).abs() * 3.14159 / n
    kx, ky = r * torch.cos(a) + 0.2 * torch.sin(t * 0.7), r * torch.sin(a) + 0.1 * t
    f = d.log("kf", 6, 22)
    st = view.px * zoom * f
    m = wave(kx * f, st) * wave(ky * f, st)
    m2 = wave((kx + ky) * f * 0.7 + t, st)
    k = mix(d.colour("k0"), d.colour("k1"), 0.5 + 0.5 * m)
    k = mix(k, d.colour("k2"), (0.5 + 0.5 * m2) * smooth(torch.sin(r * 9 - 2 * t), -0.1, 0.1))
    return torch.where(d.pick("which", 2) == 0, julia, k * (1 - 0.25 * smooth(r, 0.5, 2.0)))
